from attackers.on_the_wire import OnTheWire


class WildNumbers(OnTheWire):
    """Datagrams of the true sender whose numbers are far off: too far ahead, or with bits turned."""

    KINDS = ("ahead", "far_ahead", "turned")
    SOURCE = "10.78.0.1"
