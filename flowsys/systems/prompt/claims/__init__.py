"""The claims of the prompt paper, by subject: the two stages, training, the model at test, lengths of test prompts."""

from flowsys.systems.prompt.claims import at_test, examples, stage_1, stage_2, training

CLAIMS = [*stage_1.CLAIMS, *stage_2.CLAIMS, *training.CLAIMS, *at_test.CLAIMS, *examples.CLAIMS]
