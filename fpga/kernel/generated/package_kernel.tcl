# Packages the kernel as stopbit_decoder.xo. Made by fpga/kernel/generate.py from registers.toml: change that.
# usage: vivado -mode batch -source package_kernel.tcl -tclargs XO PART RTL_FILE...
if {[llength $argv] < 3} { error "wants XO PART RTL_FILE..." }
set xo [lindex $argv 0]
set part [lindex $argv 1]
set files [lrange $argv 2 end]
set here [file dirname [file normalize [info script]]]
set work [file join [pwd] stopbit_decoder_package]

create_project -force stopbit_decoder $work -part $part
add_files -norecurse $files
set_property top stopbit_decoder [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir $work/ip -vendor stopbit -library kernel -taxonomy /KernelIP -import_files -set_current false
ipx::unload_core $work/ip/component.xml
ipx::edit_ip_in_project -upgrade true -name edit -directory $work/ip $work/ip/component.xml
set core [ipx::current_core]
set_property version 1.0 $core
set_property core_revision 1 $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core

ipx::associate_bus_interfaces -busif s_axi_control -clock ap_clk $core
ipx::associate_bus_interfaces -busif m_axi_ring -clock ap_clk $core
ipx::associate_bus_interfaces -busif s_axis_rx -clock ap_clk $core
ipx::associate_bus_interfaces -busif m_axis_tx -clock ap_clk $core
ipx::associate_bus_interfaces -busif m_axis_net -clock ap_clk $core
ipx::associate_bus_interfaces -busif s_axis_net -clock ap_clk $core

ipx::add_memory_map s_axi_control $core
set_property slave_memory_map_ref s_axi_control [ipx::get_bus_interfaces s_axi_control -of_objects $core]
set map [ipx::get_memory_maps s_axi_control -of_objects $core]
ipx::add_address_block reg0 $map
set block [ipx::get_address_blocks reg0 -of_objects $map]
set_property range 65536 $block

set reg [ipx::add_register id $block]
set_property -dict {address_offset 0x10 size 32 access read-only} $reg
set reg [ipx::add_register interface_version $block]
set_property -dict {address_offset 0x14 size 32 access read-only} $reg
set reg [ipx::add_register capabilities $block]
set_property -dict {address_offset 0x18 size 32 access read-only} $reg
set reg [ipx::add_register engines $block]
set_property -dict {address_offset 0x1C size 32 access read-only} $reg
set reg [ipx::add_register control $block]
set_property -dict {address_offset 0x20 size 32 access read-write} $reg
set reg [ipx::add_register status $block]
set_property -dict {address_offset 0x24 size 32 access read-only} $reg
set reg [ipx::add_register errors $block]
set_property -dict {address_offset 0x28 size 32 access read-write} $reg
set reg [ipx::add_register intake $block]
set_property -dict {address_offset 0x2C size 32 access read-write} $reg
set reg [ipx::add_register clock_source $block]
set_property -dict {address_offset 0x30 size 32 access read-write} $reg
set reg [ipx::add_register preamble_bytes $block]
set_property -dict {address_offset 0x48 size 32 access read-write} $reg
set reg [ipx::add_register datagram_marks $block]
set_property -dict {address_offset 0x4C size 32 access read-write} $reg
set reg [ipx::add_register group_source $block]
set_property -dict {address_offset 0x50 size 32 access read-write} $reg
set reg [ipx::add_register group_address $block]
set_property -dict {address_offset 0x54 size 32 access read-write} $reg
set reg [ipx::add_register group_target $block]
set_property -dict {address_offset 0x58 size 32 access read-write} $reg
set reg [ipx::add_register group_write $block]
set_property -dict {address_offset 0x5C size 32 access write-only} $reg
set reg [ipx::add_register framing_fields $block]
set_property -dict {address_offset 0x60 size 32 access read-write} $reg
set reg [ipx::add_register framing_write $block]
set_property -dict {address_offset 0x64 size 32 access write-only} $reg
set reg [ipx::add_register rule_write $block]
set_property -dict {address_offset 0x68 size 32 access write-only} $reg
set reg [ipx::add_register routing $block]
set_property -dict {address_offset 0x6C size 32 access read-write} $reg
set reg [ipx::add_register clock_rate $block]
set_property -dict {address_offset 0x34 size 32 access read-write} $reg
set reg [ipx::add_register clock_offset $block]
set_property -dict {address_offset 0x38 size 64 access read-write} $reg
set reg [ipx::add_register clock_now $block]
set_property -dict {address_offset 0x40 size 64 access read-only} $reg
set reg [ipx::add_register firmware_bank $block]
set_property -dict {address_offset 0x80 size 32 access read-write} $reg
set reg [ipx::add_register firmware_address $block]
set_property -dict {address_offset 0x84 size 32 access write-only} $reg
set reg [ipx::add_register firmware_data $block]
set_property -dict {address_offset 0x88 size 32 access write-only} $reg
set reg [ipx::add_register firmware_crc $block]
set_property -dict {address_offset 0x8C size 32 access read-only} $reg
set reg [ipx::add_register firmware_words $block]
set_property -dict {address_offset 0x90 size 32 access read-only} $reg
set reg [ipx::add_register firmware_clear $block]
set_property -dict {address_offset 0x94 size 32 access write-only} $reg
set reg [ipx::add_register firmware_verify $block]
set_property -dict {address_offset 0x98 size 32 access write-only} $reg
set reg [ipx::add_register verify_left $block]
set_property -dict {address_offset 0x9C size 32 access read-only} $reg
set reg [ipx::add_register verified_crc $block]
set_property -dict {address_offset 0xA0 size 32 access read-only} $reg
set reg [ipx::add_register verified_word $block]
set_property -dict {address_offset 0xA4 size 32 access read-only} $reg
set reg [ipx::add_register datagrams $block]
set_property -dict {address_offset 0x100 size 64 access read-only} $reg
set reg [ipx::add_register datagram_bytes $block]
set_property -dict {address_offset 0x108 size 64 access read-only} $reg
set reg [ipx::add_register datagrams_dropped $block]
set_property -dict {address_offset 0x110 size 64 access read-only} $reg
set reg [ipx::add_register records $block]
set_property -dict {address_offset 0x118 size 64 access read-only} $reg
set reg [ipx::add_register records_withdrawn $block]
set_property -dict {address_offset 0x120 size 64 access read-only} $reg
set reg [ipx::add_register datagrams_decoded $block]
set_property -dict {address_offset 0x128 size 64 access read-only} $reg
set reg [ipx::add_register instructions $block]
set_property -dict {address_offset 0x130 size 64 access read-only} $reg
set reg [ipx::add_register chunks $block]
set_property -dict {address_offset 0x138 size 64 access read-only} $reg
set reg [ipx::add_register line_passed $block]
set_property -dict {address_offset 0x140 size 64 access read-only} $reg
set reg [ipx::add_register line_duplicates $block]
set_property -dict {address_offset 0x148 size 64 access read-only} $reg
set reg [ipx::add_register line_late $block]
set_property -dict {address_offset 0x150 size 64 access read-only} $reg
set reg [ipx::add_register gaps $block]
set_property -dict {address_offset 0x158 size 64 access read-only} $reg
set reg [ipx::add_register numbers_missing $block]
set_property -dict {address_offset 0x160 size 64 access read-only} $reg
set reg [ipx::add_register records_unmatched $block]
set_property -dict {address_offset 0x168 size 64 access read-only} $reg
set reg [ipx::add_register verdict_frames $block]
set_property -dict {address_offset 0x200 size 64 access read-only} $reg
set reg [ipx::add_register verdict1_frames $block]
set_property -dict {address_offset 0x208 size 64 access read-only} $reg
set reg [ipx::add_register verdict2_frames $block]
set_property -dict {address_offset 0x210 size 64 access read-only} $reg
set reg [ipx::add_register verdict3_frames $block]
set_property -dict {address_offset 0x218 size 64 access read-only} $reg
set reg [ipx::add_register verdict4_frames $block]
set_property -dict {address_offset 0x220 size 64 access read-only} $reg
set reg [ipx::add_register verdict5_frames $block]
set_property -dict {address_offset 0x228 size 64 access read-only} $reg
set reg [ipx::add_register verdict6_frames $block]
set_property -dict {address_offset 0x230 size 64 access read-only} $reg
set reg [ipx::add_register verdict7_frames $block]
set_property -dict {address_offset 0x238 size 64 access read-only} $reg
set reg [ipx::add_register verdict8_frames $block]
set_property -dict {address_offset 0x240 size 64 access read-only} $reg
set reg [ipx::add_register verdict9_frames $block]
set_property -dict {address_offset 0x248 size 64 access read-only} $reg
set reg [ipx::add_register verdict10_frames $block]
set_property -dict {address_offset 0x250 size 64 access read-only} $reg
set reg [ipx::add_register verdict11_frames $block]
set_property -dict {address_offset 0x258 size 64 access read-only} $reg
set reg [ipx::add_register verdict12_frames $block]
set_property -dict {address_offset 0x260 size 64 access read-only} $reg
set reg [ipx::add_register verdict13_frames $block]
set_property -dict {address_offset 0x268 size 64 access read-only} $reg
set reg [ipx::add_register verdict14_frames $block]
set_property -dict {address_offset 0x270 size 64 access read-only} $reg
set reg [ipx::add_register verdict15_frames $block]
set_property -dict {address_offset 0x278 size 64 access read-only} $reg
set reg [ipx::add_register verdict16_frames $block]
set_property -dict {address_offset 0x280 size 64 access read-only} $reg
set reg [ipx::add_register verdict17_frames $block]
set_property -dict {address_offset 0x288 size 64 access read-only} $reg
set reg [ipx::add_register ring_command $block]
set_property -dict {address_offset 0x400 size 32 access write-only} $reg
set reg [ipx::add_register ring_state $block]
set_property -dict {address_offset 0x404 size 32 access read-only} $reg
set reg [ipx::add_register ring_header $block]
set_property -dict {address_offset 0x408 size 64 access read-write} $reg
ipx::add_register_parameter ASSOCIATED_BUSIF $reg
set_property value m_axi_ring [ipx::get_register_parameters ASSOCIATED_BUSIF -of_objects $reg]
set reg [ipx::add_register ring_descriptors $block]
set_property -dict {address_offset 0x410 size 64 access read-write} $reg
set reg [ipx::add_register ring_segments $block]
set_property -dict {address_offset 0x418 size 32 access read-write} $reg
set reg [ipx::add_register ring_slots_log2 $block]
set_property -dict {address_offset 0x41C size 32 access read-write} $reg
set reg [ipx::add_register ring_max_record_slots $block]
set_property -dict {address_offset 0x420 size 32 access read-write} $reg
set reg [ipx::add_register ring_mode $block]
set_property -dict {address_offset 0x424 size 32 access read-write} $reg
set reg [ipx::add_register ring_credit $block]
set_property -dict {address_offset 0x428 size 64 access read-write} $reg
set reg [ipx::add_register ring_timeout $block]
set_property -dict {address_offset 0x430 size 32 access read-write} $reg
set reg [ipx::add_register ring_credit_timeout $block]
set_property -dict {address_offset 0x434 size 32 access read-write} $reg
set reg [ipx::add_register ring_number $block]
set_property -dict {address_offset 0x440 size 64 access read-only} $reg
set reg [ipx::add_register ring_claim $block]
set_property -dict {address_offset 0x448 size 64 access read-only} $reg
set reg [ipx::add_register ring_records $block]
set_property -dict {address_offset 0x450 size 64 access read-only} $reg
set reg [ipx::add_register ring_dropped $block]
set_property -dict {address_offset 0x458 size 64 access read-only} $reg
set reg [ipx::add_register ring_withdrawn $block]
set_property -dict {address_offset 0x460 size 64 access read-only} $reg
set reg [ipx::add_register ring_stalled $block]
set_property -dict {address_offset 0x468 size 64 access read-only} $reg
set reg [ipx::add_register ring_timeouts $block]
set_property -dict {address_offset 0x470 size 32 access read-only} $reg
set reg [ipx::add_register ring_malformed $block]
set_property -dict {address_offset 0x474 size 32 access read-only} $reg
set reg [ipx::add_register ring1_command $block]
set_property -dict {address_offset 0x500 size 32 access write-only} $reg
set reg [ipx::add_register ring1_state $block]
set_property -dict {address_offset 0x504 size 32 access read-only} $reg
set reg [ipx::add_register ring1_header $block]
set_property -dict {address_offset 0x508 size 64 access read-write} $reg
set reg [ipx::add_register ring1_descriptors $block]
set_property -dict {address_offset 0x510 size 64 access read-write} $reg
set reg [ipx::add_register ring1_segments $block]
set_property -dict {address_offset 0x518 size 32 access read-write} $reg
set reg [ipx::add_register ring1_slots_log2 $block]
set_property -dict {address_offset 0x51C size 32 access read-write} $reg
set reg [ipx::add_register ring1_max_record_slots $block]
set_property -dict {address_offset 0x520 size 32 access read-write} $reg
set reg [ipx::add_register ring1_mode $block]
set_property -dict {address_offset 0x524 size 32 access read-write} $reg
set reg [ipx::add_register ring1_credit $block]
set_property -dict {address_offset 0x528 size 64 access read-write} $reg
set reg [ipx::add_register ring1_timeout $block]
set_property -dict {address_offset 0x530 size 32 access read-write} $reg
set reg [ipx::add_register ring1_credit_timeout $block]
set_property -dict {address_offset 0x534 size 32 access read-write} $reg
set reg [ipx::add_register ring1_number $block]
set_property -dict {address_offset 0x540 size 64 access read-only} $reg
set reg [ipx::add_register ring1_claim $block]
set_property -dict {address_offset 0x548 size 64 access read-only} $reg
set reg [ipx::add_register ring1_records $block]
set_property -dict {address_offset 0x550 size 64 access read-only} $reg
set reg [ipx::add_register ring1_dropped $block]
set_property -dict {address_offset 0x558 size 64 access read-only} $reg
set reg [ipx::add_register ring1_withdrawn $block]
set_property -dict {address_offset 0x560 size 64 access read-only} $reg
set reg [ipx::add_register ring1_stalled $block]
set_property -dict {address_offset 0x568 size 64 access read-only} $reg
set reg [ipx::add_register ring1_timeouts $block]
set_property -dict {address_offset 0x570 size 32 access read-only} $reg
set reg [ipx::add_register ring1_malformed $block]
set_property -dict {address_offset 0x574 size 32 access read-only} $reg
set reg [ipx::add_register ring2_command $block]
set_property -dict {address_offset 0x600 size 32 access write-only} $reg
set reg [ipx::add_register ring2_state $block]
set_property -dict {address_offset 0x604 size 32 access read-only} $reg
set reg [ipx::add_register ring2_header $block]
set_property -dict {address_offset 0x608 size 64 access read-write} $reg
set reg [ipx::add_register ring2_descriptors $block]
set_property -dict {address_offset 0x610 size 64 access read-write} $reg
set reg [ipx::add_register ring2_segments $block]
set_property -dict {address_offset 0x618 size 32 access read-write} $reg
set reg [ipx::add_register ring2_slots_log2 $block]
set_property -dict {address_offset 0x61C size 32 access read-write} $reg
set reg [ipx::add_register ring2_max_record_slots $block]
set_property -dict {address_offset 0x620 size 32 access read-write} $reg
set reg [ipx::add_register ring2_mode $block]
set_property -dict {address_offset 0x624 size 32 access read-write} $reg
set reg [ipx::add_register ring2_credit $block]
set_property -dict {address_offset 0x628 size 64 access read-write} $reg
set reg [ipx::add_register ring2_timeout $block]
set_property -dict {address_offset 0x630 size 32 access read-write} $reg
set reg [ipx::add_register ring2_credit_timeout $block]
set_property -dict {address_offset 0x634 size 32 access read-write} $reg
set reg [ipx::add_register ring2_number $block]
set_property -dict {address_offset 0x640 size 64 access read-only} $reg
set reg [ipx::add_register ring2_claim $block]
set_property -dict {address_offset 0x648 size 64 access read-only} $reg
set reg [ipx::add_register ring2_records $block]
set_property -dict {address_offset 0x650 size 64 access read-only} $reg
set reg [ipx::add_register ring2_dropped $block]
set_property -dict {address_offset 0x658 size 64 access read-only} $reg
set reg [ipx::add_register ring2_withdrawn $block]
set_property -dict {address_offset 0x660 size 64 access read-only} $reg
set reg [ipx::add_register ring2_stalled $block]
set_property -dict {address_offset 0x668 size 64 access read-only} $reg
set reg [ipx::add_register ring2_timeouts $block]
set_property -dict {address_offset 0x670 size 32 access read-only} $reg
set reg [ipx::add_register ring2_malformed $block]
set_property -dict {address_offset 0x674 size 32 access read-only} $reg
set reg [ipx::add_register ring3_command $block]
set_property -dict {address_offset 0x700 size 32 access write-only} $reg
set reg [ipx::add_register ring3_state $block]
set_property -dict {address_offset 0x704 size 32 access read-only} $reg
set reg [ipx::add_register ring3_header $block]
set_property -dict {address_offset 0x708 size 64 access read-write} $reg
set reg [ipx::add_register ring3_descriptors $block]
set_property -dict {address_offset 0x710 size 64 access read-write} $reg
set reg [ipx::add_register ring3_segments $block]
set_property -dict {address_offset 0x718 size 32 access read-write} $reg
set reg [ipx::add_register ring3_slots_log2 $block]
set_property -dict {address_offset 0x71C size 32 access read-write} $reg
set reg [ipx::add_register ring3_max_record_slots $block]
set_property -dict {address_offset 0x720 size 32 access read-write} $reg
set reg [ipx::add_register ring3_mode $block]
set_property -dict {address_offset 0x724 size 32 access read-write} $reg
set reg [ipx::add_register ring3_credit $block]
set_property -dict {address_offset 0x728 size 64 access read-write} $reg
set reg [ipx::add_register ring3_timeout $block]
set_property -dict {address_offset 0x730 size 32 access read-write} $reg
set reg [ipx::add_register ring3_credit_timeout $block]
set_property -dict {address_offset 0x734 size 32 access read-write} $reg
set reg [ipx::add_register ring3_number $block]
set_property -dict {address_offset 0x740 size 64 access read-only} $reg
set reg [ipx::add_register ring3_claim $block]
set_property -dict {address_offset 0x748 size 64 access read-only} $reg
set reg [ipx::add_register ring3_records $block]
set_property -dict {address_offset 0x750 size 64 access read-only} $reg
set reg [ipx::add_register ring3_dropped $block]
set_property -dict {address_offset 0x758 size 64 access read-only} $reg
set reg [ipx::add_register ring3_withdrawn $block]
set_property -dict {address_offset 0x760 size 64 access read-only} $reg
set reg [ipx::add_register ring3_stalled $block]
set_property -dict {address_offset 0x768 size 64 access read-only} $reg
set reg [ipx::add_register ring3_timeouts $block]
set_property -dict {address_offset 0x770 size 32 access read-only} $reg
set reg [ipx::add_register ring3_malformed $block]
set_property -dict {address_offset 0x774 size 32 access read-only} $reg
set reg [ipx::add_register ring4_command $block]
set_property -dict {address_offset 0x800 size 32 access write-only} $reg
set reg [ipx::add_register ring4_state $block]
set_property -dict {address_offset 0x804 size 32 access read-only} $reg
set reg [ipx::add_register ring4_header $block]
set_property -dict {address_offset 0x808 size 64 access read-write} $reg
set reg [ipx::add_register ring4_descriptors $block]
set_property -dict {address_offset 0x810 size 64 access read-write} $reg
set reg [ipx::add_register ring4_segments $block]
set_property -dict {address_offset 0x818 size 32 access read-write} $reg
set reg [ipx::add_register ring4_slots_log2 $block]
set_property -dict {address_offset 0x81C size 32 access read-write} $reg
set reg [ipx::add_register ring4_max_record_slots $block]
set_property -dict {address_offset 0x820 size 32 access read-write} $reg
set reg [ipx::add_register ring4_mode $block]
set_property -dict {address_offset 0x824 size 32 access read-write} $reg
set reg [ipx::add_register ring4_credit $block]
set_property -dict {address_offset 0x828 size 64 access read-write} $reg
set reg [ipx::add_register ring4_timeout $block]
set_property -dict {address_offset 0x830 size 32 access read-write} $reg
set reg [ipx::add_register ring4_credit_timeout $block]
set_property -dict {address_offset 0x834 size 32 access read-write} $reg
set reg [ipx::add_register ring4_number $block]
set_property -dict {address_offset 0x840 size 64 access read-only} $reg
set reg [ipx::add_register ring4_claim $block]
set_property -dict {address_offset 0x848 size 64 access read-only} $reg
set reg [ipx::add_register ring4_records $block]
set_property -dict {address_offset 0x850 size 64 access read-only} $reg
set reg [ipx::add_register ring4_dropped $block]
set_property -dict {address_offset 0x858 size 64 access read-only} $reg
set reg [ipx::add_register ring4_withdrawn $block]
set_property -dict {address_offset 0x860 size 64 access read-only} $reg
set reg [ipx::add_register ring4_stalled $block]
set_property -dict {address_offset 0x868 size 64 access read-only} $reg
set reg [ipx::add_register ring4_timeouts $block]
set_property -dict {address_offset 0x870 size 32 access read-only} $reg
set reg [ipx::add_register ring4_malformed $block]
set_property -dict {address_offset 0x874 size 32 access read-only} $reg
set reg [ipx::add_register ring5_command $block]
set_property -dict {address_offset 0x900 size 32 access write-only} $reg
set reg [ipx::add_register ring5_state $block]
set_property -dict {address_offset 0x904 size 32 access read-only} $reg
set reg [ipx::add_register ring5_header $block]
set_property -dict {address_offset 0x908 size 64 access read-write} $reg
set reg [ipx::add_register ring5_descriptors $block]
set_property -dict {address_offset 0x910 size 64 access read-write} $reg
set reg [ipx::add_register ring5_segments $block]
set_property -dict {address_offset 0x918 size 32 access read-write} $reg
set reg [ipx::add_register ring5_slots_log2 $block]
set_property -dict {address_offset 0x91C size 32 access read-write} $reg
set reg [ipx::add_register ring5_max_record_slots $block]
set_property -dict {address_offset 0x920 size 32 access read-write} $reg
set reg [ipx::add_register ring5_mode $block]
set_property -dict {address_offset 0x924 size 32 access read-write} $reg
set reg [ipx::add_register ring5_credit $block]
set_property -dict {address_offset 0x928 size 64 access read-write} $reg
set reg [ipx::add_register ring5_timeout $block]
set_property -dict {address_offset 0x930 size 32 access read-write} $reg
set reg [ipx::add_register ring5_credit_timeout $block]
set_property -dict {address_offset 0x934 size 32 access read-write} $reg
set reg [ipx::add_register ring5_number $block]
set_property -dict {address_offset 0x940 size 64 access read-only} $reg
set reg [ipx::add_register ring5_claim $block]
set_property -dict {address_offset 0x948 size 64 access read-only} $reg
set reg [ipx::add_register ring5_records $block]
set_property -dict {address_offset 0x950 size 64 access read-only} $reg
set reg [ipx::add_register ring5_dropped $block]
set_property -dict {address_offset 0x958 size 64 access read-only} $reg
set reg [ipx::add_register ring5_withdrawn $block]
set_property -dict {address_offset 0x960 size 64 access read-only} $reg
set reg [ipx::add_register ring5_stalled $block]
set_property -dict {address_offset 0x968 size 64 access read-only} $reg
set reg [ipx::add_register ring5_timeouts $block]
set_property -dict {address_offset 0x970 size 32 access read-only} $reg
set reg [ipx::add_register ring5_malformed $block]
set_property -dict {address_offset 0x974 size 32 access read-only} $reg
set reg [ipx::add_register ring6_command $block]
set_property -dict {address_offset 0xA00 size 32 access write-only} $reg
set reg [ipx::add_register ring6_state $block]
set_property -dict {address_offset 0xA04 size 32 access read-only} $reg
set reg [ipx::add_register ring6_header $block]
set_property -dict {address_offset 0xA08 size 64 access read-write} $reg
set reg [ipx::add_register ring6_descriptors $block]
set_property -dict {address_offset 0xA10 size 64 access read-write} $reg
set reg [ipx::add_register ring6_segments $block]
set_property -dict {address_offset 0xA18 size 32 access read-write} $reg
set reg [ipx::add_register ring6_slots_log2 $block]
set_property -dict {address_offset 0xA1C size 32 access read-write} $reg
set reg [ipx::add_register ring6_max_record_slots $block]
set_property -dict {address_offset 0xA20 size 32 access read-write} $reg
set reg [ipx::add_register ring6_mode $block]
set_property -dict {address_offset 0xA24 size 32 access read-write} $reg
set reg [ipx::add_register ring6_credit $block]
set_property -dict {address_offset 0xA28 size 64 access read-write} $reg
set reg [ipx::add_register ring6_timeout $block]
set_property -dict {address_offset 0xA30 size 32 access read-write} $reg
set reg [ipx::add_register ring6_credit_timeout $block]
set_property -dict {address_offset 0xA34 size 32 access read-write} $reg
set reg [ipx::add_register ring6_number $block]
set_property -dict {address_offset 0xA40 size 64 access read-only} $reg
set reg [ipx::add_register ring6_claim $block]
set_property -dict {address_offset 0xA48 size 64 access read-only} $reg
set reg [ipx::add_register ring6_records $block]
set_property -dict {address_offset 0xA50 size 64 access read-only} $reg
set reg [ipx::add_register ring6_dropped $block]
set_property -dict {address_offset 0xA58 size 64 access read-only} $reg
set reg [ipx::add_register ring6_withdrawn $block]
set_property -dict {address_offset 0xA60 size 64 access read-only} $reg
set reg [ipx::add_register ring6_stalled $block]
set_property -dict {address_offset 0xA68 size 64 access read-only} $reg
set reg [ipx::add_register ring6_timeouts $block]
set_property -dict {address_offset 0xA70 size 32 access read-only} $reg
set reg [ipx::add_register ring6_malformed $block]
set_property -dict {address_offset 0xA74 size 32 access read-only} $reg
set reg [ipx::add_register ring7_command $block]
set_property -dict {address_offset 0xB00 size 32 access write-only} $reg
set reg [ipx::add_register ring7_state $block]
set_property -dict {address_offset 0xB04 size 32 access read-only} $reg
set reg [ipx::add_register ring7_header $block]
set_property -dict {address_offset 0xB08 size 64 access read-write} $reg
set reg [ipx::add_register ring7_descriptors $block]
set_property -dict {address_offset 0xB10 size 64 access read-write} $reg
set reg [ipx::add_register ring7_segments $block]
set_property -dict {address_offset 0xB18 size 32 access read-write} $reg
set reg [ipx::add_register ring7_slots_log2 $block]
set_property -dict {address_offset 0xB1C size 32 access read-write} $reg
set reg [ipx::add_register ring7_max_record_slots $block]
set_property -dict {address_offset 0xB20 size 32 access read-write} $reg
set reg [ipx::add_register ring7_mode $block]
set_property -dict {address_offset 0xB24 size 32 access read-write} $reg
set reg [ipx::add_register ring7_credit $block]
set_property -dict {address_offset 0xB28 size 64 access read-write} $reg
set reg [ipx::add_register ring7_timeout $block]
set_property -dict {address_offset 0xB30 size 32 access read-write} $reg
set reg [ipx::add_register ring7_credit_timeout $block]
set_property -dict {address_offset 0xB34 size 32 access read-write} $reg
set reg [ipx::add_register ring7_number $block]
set_property -dict {address_offset 0xB40 size 64 access read-only} $reg
set reg [ipx::add_register ring7_claim $block]
set_property -dict {address_offset 0xB48 size 64 access read-only} $reg
set reg [ipx::add_register ring7_records $block]
set_property -dict {address_offset 0xB50 size 64 access read-only} $reg
set reg [ipx::add_register ring7_dropped $block]
set_property -dict {address_offset 0xB58 size 64 access read-only} $reg
set reg [ipx::add_register ring7_withdrawn $block]
set_property -dict {address_offset 0xB60 size 64 access read-only} $reg
set reg [ipx::add_register ring7_stalled $block]
set_property -dict {address_offset 0xB68 size 64 access read-only} $reg
set reg [ipx::add_register ring7_timeouts $block]
set_property -dict {address_offset 0xB70 size 32 access read-only} $reg
set reg [ipx::add_register ring7_malformed $block]
set_property -dict {address_offset 0xB74 size 32 access read-only} $reg
set reg [ipx::add_register filter_control $block]
set_property -dict {address_offset 0x1000 size 32 access read-write} $reg
set reg [ipx::add_register filter_key $block]
set_property -dict {address_offset 0x1004 size 32 access read-write} $reg
set reg [ipx::add_register filter_mask $block]
set_property -dict {address_offset 0x1008 size 64 access read-write} $reg
set reg [ipx::add_register filter_value $block]
set_property -dict {address_offset 0x1010 size 64 access read-write} $reg
set reg [ipx::add_register filter1_control $block]
set_property -dict {address_offset 0x1020 size 32 access read-write} $reg
set reg [ipx::add_register filter1_key $block]
set_property -dict {address_offset 0x1024 size 32 access read-write} $reg
set reg [ipx::add_register filter1_mask $block]
set_property -dict {address_offset 0x1028 size 64 access read-write} $reg
set reg [ipx::add_register filter1_value $block]
set_property -dict {address_offset 0x1030 size 64 access read-write} $reg
set reg [ipx::add_register filter2_control $block]
set_property -dict {address_offset 0x1040 size 32 access read-write} $reg
set reg [ipx::add_register filter2_key $block]
set_property -dict {address_offset 0x1044 size 32 access read-write} $reg
set reg [ipx::add_register filter2_mask $block]
set_property -dict {address_offset 0x1048 size 64 access read-write} $reg
set reg [ipx::add_register filter2_value $block]
set_property -dict {address_offset 0x1050 size 64 access read-write} $reg
set reg [ipx::add_register filter3_control $block]
set_property -dict {address_offset 0x1060 size 32 access read-write} $reg
set reg [ipx::add_register filter3_key $block]
set_property -dict {address_offset 0x1064 size 32 access read-write} $reg
set reg [ipx::add_register filter3_mask $block]
set_property -dict {address_offset 0x1068 size 64 access read-write} $reg
set reg [ipx::add_register filter3_value $block]
set_property -dict {address_offset 0x1070 size 64 access read-write} $reg
set reg [ipx::add_register filter4_control $block]
set_property -dict {address_offset 0x1080 size 32 access read-write} $reg
set reg [ipx::add_register filter4_key $block]
set_property -dict {address_offset 0x1084 size 32 access read-write} $reg
set reg [ipx::add_register filter4_mask $block]
set_property -dict {address_offset 0x1088 size 64 access read-write} $reg
set reg [ipx::add_register filter4_value $block]
set_property -dict {address_offset 0x1090 size 64 access read-write} $reg
set reg [ipx::add_register filter5_control $block]
set_property -dict {address_offset 0x10A0 size 32 access read-write} $reg
set reg [ipx::add_register filter5_key $block]
set_property -dict {address_offset 0x10A4 size 32 access read-write} $reg
set reg [ipx::add_register filter5_mask $block]
set_property -dict {address_offset 0x10A8 size 64 access read-write} $reg
set reg [ipx::add_register filter5_value $block]
set_property -dict {address_offset 0x10B0 size 64 access read-write} $reg
set reg [ipx::add_register filter6_control $block]
set_property -dict {address_offset 0x10C0 size 32 access read-write} $reg
set reg [ipx::add_register filter6_key $block]
set_property -dict {address_offset 0x10C4 size 32 access read-write} $reg
set reg [ipx::add_register filter6_mask $block]
set_property -dict {address_offset 0x10C8 size 64 access read-write} $reg
set reg [ipx::add_register filter6_value $block]
set_property -dict {address_offset 0x10D0 size 64 access read-write} $reg
set reg [ipx::add_register filter7_control $block]
set_property -dict {address_offset 0x10E0 size 32 access read-write} $reg
set reg [ipx::add_register filter7_key $block]
set_property -dict {address_offset 0x10E4 size 32 access read-write} $reg
set reg [ipx::add_register filter7_mask $block]
set_property -dict {address_offset 0x10E8 size 64 access read-write} $reg
set reg [ipx::add_register filter7_value $block]
set_property -dict {address_offset 0x10F0 size 64 access read-write} $reg
set reg [ipx::add_register filter8_control $block]
set_property -dict {address_offset 0x1100 size 32 access read-write} $reg
set reg [ipx::add_register filter8_key $block]
set_property -dict {address_offset 0x1104 size 32 access read-write} $reg
set reg [ipx::add_register filter8_mask $block]
set_property -dict {address_offset 0x1108 size 64 access read-write} $reg
set reg [ipx::add_register filter8_value $block]
set_property -dict {address_offset 0x1110 size 64 access read-write} $reg
set reg [ipx::add_register filter9_control $block]
set_property -dict {address_offset 0x1120 size 32 access read-write} $reg
set reg [ipx::add_register filter9_key $block]
set_property -dict {address_offset 0x1124 size 32 access read-write} $reg
set reg [ipx::add_register filter9_mask $block]
set_property -dict {address_offset 0x1128 size 64 access read-write} $reg
set reg [ipx::add_register filter9_value $block]
set_property -dict {address_offset 0x1130 size 64 access read-write} $reg
set reg [ipx::add_register filter10_control $block]
set_property -dict {address_offset 0x1140 size 32 access read-write} $reg
set reg [ipx::add_register filter10_key $block]
set_property -dict {address_offset 0x1144 size 32 access read-write} $reg
set reg [ipx::add_register filter10_mask $block]
set_property -dict {address_offset 0x1148 size 64 access read-write} $reg
set reg [ipx::add_register filter10_value $block]
set_property -dict {address_offset 0x1150 size 64 access read-write} $reg
set reg [ipx::add_register filter11_control $block]
set_property -dict {address_offset 0x1160 size 32 access read-write} $reg
set reg [ipx::add_register filter11_key $block]
set_property -dict {address_offset 0x1164 size 32 access read-write} $reg
set reg [ipx::add_register filter11_mask $block]
set_property -dict {address_offset 0x1168 size 64 access read-write} $reg
set reg [ipx::add_register filter11_value $block]
set_property -dict {address_offset 0x1170 size 64 access read-write} $reg
set reg [ipx::add_register filter12_control $block]
set_property -dict {address_offset 0x1180 size 32 access read-write} $reg
set reg [ipx::add_register filter12_key $block]
set_property -dict {address_offset 0x1184 size 32 access read-write} $reg
set reg [ipx::add_register filter12_mask $block]
set_property -dict {address_offset 0x1188 size 64 access read-write} $reg
set reg [ipx::add_register filter12_value $block]
set_property -dict {address_offset 0x1190 size 64 access read-write} $reg
set reg [ipx::add_register filter13_control $block]
set_property -dict {address_offset 0x11A0 size 32 access read-write} $reg
set reg [ipx::add_register filter13_key $block]
set_property -dict {address_offset 0x11A4 size 32 access read-write} $reg
set reg [ipx::add_register filter13_mask $block]
set_property -dict {address_offset 0x11A8 size 64 access read-write} $reg
set reg [ipx::add_register filter13_value $block]
set_property -dict {address_offset 0x11B0 size 64 access read-write} $reg
set reg [ipx::add_register filter14_control $block]
set_property -dict {address_offset 0x11C0 size 32 access read-write} $reg
set reg [ipx::add_register filter14_key $block]
set_property -dict {address_offset 0x11C4 size 32 access read-write} $reg
set reg [ipx::add_register filter14_mask $block]
set_property -dict {address_offset 0x11C8 size 64 access read-write} $reg
set reg [ipx::add_register filter14_value $block]
set_property -dict {address_offset 0x11D0 size 64 access read-write} $reg
set reg [ipx::add_register filter15_control $block]
set_property -dict {address_offset 0x11E0 size 32 access read-write} $reg
set reg [ipx::add_register filter15_key $block]
set_property -dict {address_offset 0x11E4 size 32 access read-write} $reg
set reg [ipx::add_register filter15_mask $block]
set_property -dict {address_offset 0x11E8 size 64 access read-write} $reg
set reg [ipx::add_register filter15_value $block]
set_property -dict {address_offset 0x11F0 size 64 access read-write} $reg
set reg [ipx::add_register remote_command $block]
set_property -dict {address_offset 0x2000 size 32 access write-only} $reg
set reg [ipx::add_register remote_subscribe $block]
set_property -dict {address_offset 0x2004 size 32 access write-only} $reg
set reg [ipx::add_register remote_tell $block]
set_property -dict {address_offset 0x2008 size 32 access write-only} $reg
set reg [ipx::add_register remote_state $block]
set_property -dict {address_offset 0x200C size 32 access read-only} $reg
set reg [ipx::add_register remote_subscribers $block]
set_property -dict {address_offset 0x2010 size 32 access read-only} $reg
set reg [ipx::add_register remote_node $block]
set_property -dict {address_offset 0x2014 size 32 access read-write} $reg
set reg [ipx::add_register remote_generation $block]
set_property -dict {address_offset 0x2018 size 32 access read-write} $reg
set reg [ipx::add_register remote_slots_log2 $block]
set_property -dict {address_offset 0x201C size 32 access read-write} $reg
set reg [ipx::add_register remote_max_record_slots $block]
set_property -dict {address_offset 0x2020 size 32 access read-write} $reg
set reg [ipx::add_register remote_peer $block]
set_property -dict {address_offset 0x2024 size 32 access read-write} $reg
set reg [ipx::add_register remote_landing $block]
set_property -dict {address_offset 0x2028 size 32 access read-write} $reg
set reg [ipx::add_register remote_channel_slots $block]
set_property -dict {address_offset 0x202C size 32 access read-write} $reg
set reg [ipx::add_register remote_slot_bytes $block]
set_property -dict {address_offset 0x2030 size 32 access read-write} $reg
set reg [ipx::add_register remote_origin $block]
set_property -dict {address_offset 0x2034 size 32 access read-write} $reg
set reg [ipx::add_register remote_life $block]
set_property -dict {address_offset 0x2038 size 32 access read-write} $reg
set reg [ipx::add_register remote_status_index $block]
set_property -dict {address_offset 0x203C size 32 access read-write} $reg
set reg [ipx::add_register remote_capability $block]
set_property -dict {address_offset 0x2040 size 64 access read-write} $reg
set reg [ipx::add_register remote_begun_number $block]
set_property -dict {address_offset 0x2048 size 64 access read-only} $reg
set reg [ipx::add_register remote_position_number $block]
set_property -dict {address_offset 0x2050 size 64 access read-only} $reg
set reg [ipx::add_register remote_position_records $block]
set_property -dict {address_offset 0x2058 size 64 access read-only} $reg
set reg [ipx::add_register remote_begun $block]
set_property -dict {address_offset 0x2060 size 64 access read-only} $reg
set reg [ipx::add_register remote_messages $block]
set_property -dict {address_offset 0x2068 size 64 access read-only} $reg
set reg [ipx::add_register remote_records $block]
set_property -dict {address_offset 0x2070 size 64 access read-only} $reg
set reg [ipx::add_register remote_slots $block]
set_property -dict {address_offset 0x2078 size 64 access read-only} $reg
set reg [ipx::add_register remote_lost $block]
set_property -dict {address_offset 0x2080 size 64 access read-only} $reg
set reg [ipx::add_register remote_overrun $block]
set_property -dict {address_offset 0x2088 size 64 access read-only} $reg
set reg [ipx::add_register remote_malformed $block]
set_property -dict {address_offset 0x2090 size 32 access read-only} $reg
set reg [ipx::add_register remote_surplus $block]
set_property -dict {address_offset 0x2094 size 32 access read-only} $reg
set reg [ipx::add_register remote_stray $block]
set_property -dict {address_offset 0x2098 size 32 access read-only} $reg
set reg [ipx::add_register station_control $block]
set_property -dict {address_offset 0x2400 size 32 access read-write} $reg
set reg [ipx::add_register station_state $block]
set_property -dict {address_offset 0x2404 size 32 access read-only} $reg
set reg [ipx::add_register station_address $block]
set_property -dict {address_offset 0x2408 size 32 access read-write} $reg
set reg [ipx::add_register station_next $block]
set_property -dict {address_offset 0x240C size 32 access write-only} $reg
set reg [ipx::add_register station_mac_high $block]
set_property -dict {address_offset 0x2410 size 32 access read-write} $reg
set reg [ipx::add_register station_mac_low $block]
set_property -dict {address_offset 0x2414 size 32 access read-write} $reg
set reg [ipx::add_register station_word $block]
set_property -dict {address_offset 0x2418 size 32 access write-only} $reg
set reg [ipx::add_register station_send $block]
set_property -dict {address_offset 0x241C size 32 access write-only} $reg
set reg [ipx::add_register station_heard $block]
set_property -dict {address_offset 0x2420 size 32 access read-only} $reg
set reg [ipx::add_register station_lost $block]
set_property -dict {address_offset 0x2424 size 32 access read-only} $reg
set reg [ipx::add_register station_sent $block]
set_property -dict {address_offset 0x2428 size 32 access read-only} $reg
set reg [ipx::add_register piece_word $block]
set_property -dict {address_offset 0x2500 size 32 access read-only} $reg
set reg [ipx::add_register piece1_word $block]
set_property -dict {address_offset 0x2504 size 32 access read-only} $reg
set reg [ipx::add_register piece2_word $block]
set_property -dict {address_offset 0x2508 size 32 access read-only} $reg
set reg [ipx::add_register piece3_word $block]
set_property -dict {address_offset 0x250C size 32 access read-only} $reg
set reg [ipx::add_register piece4_word $block]
set_property -dict {address_offset 0x2510 size 32 access read-only} $reg
set reg [ipx::add_register piece5_word $block]
set_property -dict {address_offset 0x2514 size 32 access read-only} $reg
set reg [ipx::add_register piece6_word $block]
set_property -dict {address_offset 0x2518 size 32 access read-only} $reg
set reg [ipx::add_register piece7_word $block]
set_property -dict {address_offset 0x251C size 32 access read-only} $reg
set reg [ipx::add_register piece8_word $block]
set_property -dict {address_offset 0x2520 size 32 access read-only} $reg
set reg [ipx::add_register piece9_word $block]
set_property -dict {address_offset 0x2524 size 32 access read-only} $reg
set reg [ipx::add_register piece10_word $block]
set_property -dict {address_offset 0x2528 size 32 access read-only} $reg
set reg [ipx::add_register piece11_word $block]
set_property -dict {address_offset 0x252C size 32 access read-only} $reg
set reg [ipx::add_register piece12_word $block]
set_property -dict {address_offset 0x2530 size 32 access read-only} $reg
set reg [ipx::add_register piece13_word $block]
set_property -dict {address_offset 0x2534 size 32 access read-only} $reg
set reg [ipx::add_register piece14_word $block]
set_property -dict {address_offset 0x2538 size 32 access read-only} $reg
set reg [ipx::add_register piece15_word $block]
set_property -dict {address_offset 0x253C size 32 access read-only} $reg

ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
close_project -delete
package_xo -force -xo_path $xo -kernel_name stopbit_decoder -ip_directory $work/ip -kernel_xml [file join $here kernel.xml] -ctrl_protocol user_managed
