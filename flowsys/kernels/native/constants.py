"""Numbers the driver's parts share: methods, modes of a lane, outcomes, columns of the statistics."""

from flowsys.kernels.outcomes import Code

AUTO, EXPLICIT, IMPLICIT = 0, 1, 2
EMPTY, STEPPING, CONFIRMING, LOCATING, FORCED, LOOKING, RETURNING = 0, 1, 2, 3, 4, 5, 6
# what a function says of the step about to be taken, besides 0 (the trajectory is over) and 1 (something comes first)
GOES_ON = 2
# no event is sought inside the step; nothing crossed
NONE = -1
COMPLETED, NOT_REACHED = int(Code.COMPLETED), int(Code.NOT_REACHED)
STEP_BUDGET, STEP_TOO_SMALL, NOT_FINITE = int(Code.STEP_BUDGET), int(Code.STEP_TOO_SMALL), int(Code.NOT_FINITE)
CANNOT_SLIDE, DROWNED = int(Code.CANNOT_SLIDE), int(Code.DROWNED)
STEPS, REJECTED, EVALUATIONS, KINKS, SLIDES, TRIALS, IMPLICIT_STEPS, N_COUNTS = 0, 1, 2, 3, 4, 5, 6, 7
# gates whose switching functions agree this closely (in value and velocity) share one surface
SAME_SURFACE = 1e-9
ON_SURFACE = 1e-14
ALONE = 2
# surfaces whose switching functions are this small are met together
TOUCHES = 1e-12
# a gate said to lie on a surface is off it once its switching function is this large
OFF_SURFACE = 1e-8
# the field is affine in the shares if it is so up to this part of itself
AFFINE = 1e-7
# so often in a row may a surface be met again in no time before the flow is said to slide
MAX_RETURNS = 3
# so many kinks in a row, each within HURRY of the time of the one before, mean that no side holds the flow
MAX_HURRIED = 40
HURRY = 1e-10
NEVER = -1e300
EPSILON = 2.220446049250313e-16
# filled in when a driver is compiled: lanes of a vector, and where inside a step values are known
LANES = 4
THIRD, TWO_THIRDS = 1 / 3, 0.6512820512820513
