/// A value that may be anything, in each cycle. What nothing drives would be anything at each place where it is used.
(* blackbox *)
module formal_any #(
  parameter int unsigned Width = 1
) (
  output logic [Width-1:0] any_o
);
endmodule
