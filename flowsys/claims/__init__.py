"""What the papers state, measured: claims, their verdicts, where and by whom they are checked."""

from flowsys.claims.claim import Checked as Checked
from flowsys.claims.claim import Claim as Claim
from flowsys.claims.claim import Recorded as Recorded
from flowsys.claims.claim import Verdict as Verdict
from flowsys.claims.claim import Word as Word
from flowsys.claims.claim import claim as claim
from flowsys.claims.claim import judged as judged
from flowsys.claims.claim import listed as listed
from flowsys.claims.claim import read_record as read_record
from flowsys.claims.claim import word_of as word_of
from flowsys.claims.claim import write_record as write_record
