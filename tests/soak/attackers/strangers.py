from attackers.on_the_wire import OnTheWire


class Strangers(OnTheWire):
    """Other senders on the channel's groups, 1 to 10,000 datagrams a second."""

    KINDS = ("foreign_run", "from_one", "noise", "again", "forged")
    SOURCE = "10.78.0.66"
    LOG = ('what="copies differ"',)
