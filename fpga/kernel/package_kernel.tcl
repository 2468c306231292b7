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

ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
close_project -delete
package_xo -force -xo_path $xo -kernel_name stopbit_decoder -ip_directory $work/ip -kernel_xml [file join $here kernel.xml] -ctrl_protocol user_managed
