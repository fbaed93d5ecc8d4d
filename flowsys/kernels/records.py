"""The memory of a native run: one workspace per thread, one batch for all.

Vectors of the workspace hold `LANES` trajectories side by side: entry j of lane l stands at j·LANES + l. Watched values
are, in order: the observables of events, and switching functions. At most `n_surfaces` surfaces are slid on at once.
"""

from flowsys.kernels.restricted import Code, Doubles, Integers, f64, i64


class Workspace:
    """What one thread works on."""

    is_record = True

    field: Code
    watched: Code
    velocity: Code
    tangent: Code
    dim: i64
    n_observed: i64
    n_gates: i64
    n_watched: i64
    n_constants: i64
    n_surfaces: i64
    matrix_size: i64
    n_sliding: i64
    layout: Integers
    indices: Integers
    constants: Doubles
    scratch: Doubles
    # states, slopes (13 stages, 3 more for the dense output) and the dense output's coefficients
    y: Doubles
    y_new: Doubles
    y_stage: Doubles
    k: Doubles
    dense: Doubles
    fraction: Doubles
    # step sizes tried, their error norms, tolerances, and h·|λ|
    step: Doubles
    error: Doubles
    rtol: Doubles
    atol: Doubles
    stiffness: Doubles
    # watched values at the start, near the thirds and at the end of a step, and at the ends of a bracket
    at_start: Doubles
    at_third: Doubles
    at_two_thirds: Doubles
    at_end: Doubles
    at_inside: Doubles
    at_low: Doubles
    at_high: Doubles
    at_other: Doubles
    orientation: Doubles
    threshold: Doubles
    # gates; the number of the slid surface a gate belongs to (0: none), the surface at hand, the last one crossed
    gates: Doubles
    gates_on: Doubles
    members: Doubles
    met: Doubles
    crossed: Doubles
    crossed_time: Doubles
    returns: Integers
    hurried: Integers
    # on how many surfaces a lane slides, a gate for each, shares of open gates, switching functions
    slides: Integers
    representative: Integers
    shares: Doubles
    off_surface: Doubles
    # fields with one surface's gates open at a time; then, lane after lane: a and B of dh/dt = a + B λ, and B⁻¹
    columns: Doubles
    matrix: Doubles
    inverse: Doubles
    work: Doubles
    f_on: Doubles
    v_now: Doubles
    v_on: Doubles
    v_values: Doubles
    # for looking at one lane's state while others are between steps
    spare: Doubles
    spare_values: Doubles
    # an implicit step of one trajectory: stages and linear systems in the lanes (`native/implicit.py`)
    base: Doubles
    scales: Doubles
    omega: Doubles
    weights: Doubles
    inner: Doubles
    combined: Doubles
    sums: Doubles
    increments: Doubles
    states: Doubles
    slopes: Doubles
    changes: Doubles
    expected: Doubles
    found: Doubles
    transformed_re: Doubles
    transformed_im: Doubles
    right_re: Doubles
    right_im: Doubles
    solution_re: Doubles
    solution_im: Doubles
    multiplier_re: Doubles
    multiplier_im: Doubles
    jacobian: Doubles
    matrix_re: Doubles
    matrix_im: Doubles
    order: Integers
    pivot: i64
    has_tangent: i64
    field_work: f64
    # what every lane keeps of its implicit steps: the one tried last, the one made before it, and what they tell
    tried: Doubles
    tried_start: Doubles
    tried_end: Doubles
    tried_step: Doubles
    tried_age: Doubles
    tried_stretch: Doubles
    tried_middle: Doubles
    tried_norm: Doubles
    tried_kinks: Integers
    has_tried: Integers
    history: Doubles
    history_here: Doubles
    history_step: Doubles
    history_age: Doubles
    history_stretch: Doubles
    has_history: Integers
    middle: Doubles
    norm: Doubles
    age: Doubles
    limit: Doubles
    iterations: Integers
    is_drowned: Integers
    # which method a lane uses, and how it fares
    is_implicit: Integers
    patience: Integers
    calm_steps: Integers
    stretch_steps: Integers
    stretch_start: Doubles
    pace: Doubles
    spent: Doubles
    # one number per lane
    trajectory: Integers
    stage: Integers
    mode: Integers
    t: Doubles
    target: Doubles
    proposed: Doubles
    last_step: Doubles
    last_error: Doubles
    clipped: Integers
    was_rejected: Integers
    low: Doubles
    high: Doubles
    other: Doubles
    full: Doubles
    full_clipped: Integers
    # the step about to be taken, while times inside it are looked at
    taken: Doubles
    taken_clipped: Integers
    arrives: Integers
    look_failed: Integers
    # the event sought inside it, what crossed at its end, and the latest event seen so far
    sought: Integers
    search_failed: Integers
    crossed_event: Integers
    crossed_kink: Integers
    latest: Doubles
    latest_y: Doubles
    trials: Integers
    next_time: Integers
    pending: Integers
    stiff_steps: Integers
    # steps, rejected, evaluations, kinks, slides, trials, implicit steps: per lane
    counts: Integers


class Batch:
    """The trajectories of a run and what is recorded of them."""

    is_record = True

    n: i64
    n_stages: i64
    n_times: i64
    max_steps: i64
    max_kinks: i64
    method: i64
    alone: i64
    n_parameters: i64
    log_size: i64
    keeps_gates: i64
    next: Integers
    stop: Integers
    # inputs; a stride is 0 where all trajectories share the values
    initial: Doubles
    start: Doubles
    t_max: Doubles
    rtol: Doubles
    atol: Doubles
    kink_width: Doubles
    parameters: Doubles
    parameters_stride: i64
    data: Doubles
    data_stride: i64
    data_size: i64
    until: Doubles
    ends_on: Integers
    n_events: i64
    watches: Integers
    directions: Doubles
    thresholds: Doubles
    requested: Integers
    times: Doubles
    times_stride: i64
    # outputs
    outcome: Integers
    final_t: Doubles
    final_y: Doubles
    final_stage: Integers
    final_gates: Doubles
    time_states: Doubles
    time_stages: Integers
    time_slides: Integers
    event_times: Doubles
    event_states: Doubles
    event_stages: Integers
    event_slides: Integers
    reached: Integers
    statistics: Integers
    log: Doubles
    log_counts: Integers
