/// What the parts of the address translation unit pass to each other.
package stopbit_translation_pkg;
  import stopbit_nic_pkg::*;

  localparam int unsigned AtsUnits   = 4;  // those of remote memory access, and the message unit
  localparam int unsigned UnitWidth  = $clog2(AtsUnits);
  localparam int unsigned TagWidth   = $clog2(AtsTags);
  localparam int unsigned FlushWidth = $clog2(AtsFlushes);

  // A look-up, or a flush. Of a flush `units` names the units to notify, `tag` is its number, and `body` has only the page.
  typedef struct packed {
    logic                 is_flush;
    logic                 drops;  // of a flush: also what the cache has
    logic [UnitWidth-1:0] from;
    logic [AtsUnits-1:0]  units;
    logic [TagWidth-1:0]  tag;
    translate_request_t   body;
  } atu_request_t;

endpackage
