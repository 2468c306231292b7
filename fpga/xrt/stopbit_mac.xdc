# Clocks of stopbit_mac_input, to be read scoped to its instance (read_xdc -ref stopbit_mac_input). Not run: see alveo.md.
#
# The two clocks are asynchronous. What crosses is constrained to arrive within a cycle of the reader, so that Gray codes keep
# their order and held numbers are whole.
set mac_clk [get_clocks -of_objects [get_ports mac_clk_i]]
set clk     [get_clocks -of_objects [get_ports clk_i]]
set mac_ns  [get_property PERIOD $mac_clk]
set ns      [get_property PERIOD $clk]

# stopbit_async_fifo: Gray pointers.
set_max_delay -datapath_only $ns     -from [get_cells -hier -filter {NAME =~ fifo/write_gray_q_reg*}] -to [get_cells -hier -filter {NAME =~ fifo/to_read/first_q_reg*}]
set_bus_skew                 $ns     -from [get_cells -hier -filter {NAME =~ fifo/write_gray_q_reg*}] -to [get_cells -hier -filter {NAME =~ fifo/to_read/first_q_reg*}]
set_max_delay -datapath_only $mac_ns -from [get_cells -hier -filter {NAME =~ fifo/read_gray_q_reg*}]  -to [get_cells -hier -filter {NAME =~ fifo/to_write/first_q_reg*}]
set_bus_skew                 $mac_ns -from [get_cells -hier -filter {NAME =~ fifo/read_gray_q_reg*}]  -to [get_cells -hier -filter {NAME =~ fifo/to_write/first_q_reg*}]

# stopbit_snapshot: the copy is held for more than two cycles of the reader; its turns are single bits.
set_max_delay -datapath_only [expr {2 * $ns}] -from [get_cells -hier -filter {NAME =~ figures/held_q_reg*}] -to [get_cells -hier -filter {NAME =~ figures/data_o_reg*}]
set_max_delay -datapath_only $ns     -from [get_cells -hier -filter {NAME =~ figures/turn_q_reg*}] -to [get_cells -hier -filter {NAME =~ figures/to_reader/first_q_reg*}]
set_max_delay -datapath_only $mac_ns -from [get_cells -hier -filter {NAME =~ figures/seen_q_reg*}] -to [get_cells -hier -filter {NAME =~ figures/to_writer/first_q_reg*}]

# stopbit_reset_pair: single bits.
set_max_delay -datapath_only $mac_ns -from [get_cells -hier -filter {NAME =~ resets/asks_q_reg*}]   -to [get_cells -hier -filter {NAME =~ resets/to_other/first_q_reg*}]
set_max_delay -datapath_only $ns     -from [get_cells -hier -filter {NAME =~ resets/answer_q_reg*}] -to [get_cells -hier -filter {NAME =~ resets/to_this/first_q_reg*}]
