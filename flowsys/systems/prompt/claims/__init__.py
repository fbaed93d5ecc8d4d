"""The claims of the prompt paper, by subject: one list, in the order of the paper."""

from flowsys.systems.prompt.claims import attention, course, descent, examples, gradients, times

CLAIMS = [*gradients.CLAIMS, *times.CLAIMS, *course.CLAIMS, *descent.CLAIMS, *attention.CLAIMS, *examples.CLAIMS]
