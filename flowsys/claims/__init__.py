"""What the papers state, measured: claims, their kinds and regimes, verdicts, where and by whom they are checked."""

from flowsys.claims.claim import Claim as Claim
from flowsys.claims.claim import Erratum as Erratum
from flowsys.claims.kinds import Existence as Existence
from flowsys.claims.kinds import Experiment as Experiment
from flowsys.claims.kinds import Identity as Identity
from flowsys.claims.kinds import Inequality as Inequality
from flowsys.claims.kinds import Sign as Sign
from flowsys.claims.kit import Kit as Kit
from flowsys.claims.limits import Limit as Limit
from flowsys.claims.measurements import Series as Series
from flowsys.claims.measurements import Sides as Sides
from flowsys.claims.orders import Order as Order
from flowsys.claims.probability import HighProbability as HighProbability
from flowsys.claims.record import Checked as Checked
from flowsys.claims.record import Recorded as Recorded
from flowsys.claims.record import read_record as read_record
from flowsys.claims.record import write_record as write_record
from flowsys.claims.regime import Condition as Condition
from flowsys.claims.regime import Path as Path
from flowsys.claims.regime import Regime as Regime
from flowsys.claims.regime import equals as equals
from flowsys.claims.verdict import Verdict as Verdict
from flowsys.claims.verdict import Word as Word
from flowsys.claims.verdict import listed as listed
from flowsys.claims.verdict import word_of as word_of
