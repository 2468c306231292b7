"""What means harm to an appliance while the soak runs: a module each, and the table of all of them."""

from attackers.clock_steps import ClockSteps
from attackers.full_disk import FullDisk
from attackers.full_memory import FullMemory
from attackers.greedy_ports import GreedyPorts
from attackers.stalls import Stalls
from attackers.strangers import Strangers
from attackers.unread_log import UnreadLog
from attackers.wild_numbers import WildNumbers

# Seconds between two strikes of each, at least and at most.
ALL = {
    Strangers: (0.5, 3),
    WildNumbers: (0.5, 3),
    Stalls: (0.2, 4),
    ClockSteps: (1, 6),
    FullMemory: (3, 10),
    FullDisk: (3, 10),
    UnreadLog: (4, 20),
    GreedyPorts: (1, 6),
}
