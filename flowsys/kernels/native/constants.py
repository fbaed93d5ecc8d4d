"""Numbers the driver's parts share: modes of a lane, outcomes, columns of the statistics."""

from flowsys.kernels.outcomes import Code

EMPTY, STEPPING, CONFIRMING, LOCATING, FORCED = 0, 1, 2, 3, 4
COMPLETED, NOT_REACHED = int(Code.COMPLETED), int(Code.NOT_REACHED)
STEP_BUDGET, STEP_TOO_SMALL, NOT_FINITE = int(Code.STEP_BUDGET), int(Code.STEP_TOO_SMALL), int(Code.NOT_FINITE)
STIFF, SECOND_SURFACE = int(Code.STIFF), int(Code.SECOND_SURFACE)
STEPS, REJECTED, EVALUATIONS, KINKS, SLIDES, TRIALS, N_COUNTS = 0, 1, 2, 3, 4, 5, 6
EPSILON = 2.220446049250313e-16
# filled in when a driver is compiled: lanes of a vector, and where inside a step values are known
LANES = 4
THIRD, TWO_THIRDS = 1 / 3, 0.6512820512820513
