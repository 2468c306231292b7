/// The instruction set. Made from microcode/isa/opcodes.def and microcode/base/error_code.def by `stopbit_isa_package`;
/// do not edit.
package stopbit_isa_pkg;
  // An instruction: microcode/isa/generated/isa.md.
  typedef struct packed {
    logic [1:0]  zero;
    logic        predicate;
    logic [1:0]  known;
    logic        pair;
    logic [13:0] target;
    logic [3:0]  control;
    logic [11:0] constant;
    logic [11:0] slot;
    logic [7:0]  word;
    logic [7:0]  op;
  } insn_t;

  // Operators: bits 7:5 of a data-op.
  localparam logic [2:0] OPERATOR_NON = 3'd0;
  localparam logic [2:0] OPERATOR_CON = 3'd1;
  localparam logic [2:0] OPERATOR_DEF = 3'd2;
  localparam logic [2:0] OPERATOR_COP = 3'd3;
  localparam logic [2:0] OPERATOR_INC = 3'd4;
  localparam logic [2:0] OPERATOR_DEL = 3'd5;
  localparam logic [2:0] OPERATOR_TAI = 3'd6;
  localparam logic [2:0] OPERATOR_SPECIAL = 3'd7;

  // Types: bits 4:1 of a data-op.
  localparam logic [3:0] TYPE_U32 = 4'd0;
  localparam logic [3:0] TYPE_S32 = 4'd1;
  localparam logic [3:0] TYPE_U64 = 4'd2;
  localparam logic [3:0] TYPE_S64 = 4'd3;
  localparam logic [3:0] TYPE_IEXP = 4'd4;
  localparam logic [3:0] TYPE_IMAN = 4'd5;
  localparam logic [3:0] TYPE_DEXP = 4'd6;
  localparam logic [3:0] TYPE_DMAN = 4'd7;
  localparam logic [3:0] TYPE_ASCII = 4'd8;
  localparam logic [3:0] TYPE_UNI = 4'd9;
  localparam logic [3:0] TYPE_BYTES = 4'd10;
  localparam logic [3:0] TYPE_BITS = 4'd11;

  // Data-ops.
  localparam logic [7:0] OP_NON_U32_MAN = 8'd0;
  localparam logic [7:0] OP_NON_U32_OPT = 8'd1;
  localparam logic [7:0] OP_NON_S32_MAN = 8'd2;
  localparam logic [7:0] OP_NON_S32_OPT = 8'd3;
  localparam logic [7:0] OP_NON_U64_MAN = 8'd4;
  localparam logic [7:0] OP_NON_U64_OPT = 8'd5;
  localparam logic [7:0] OP_NON_S64_MAN = 8'd6;
  localparam logic [7:0] OP_NON_S64_OPT = 8'd7;
  localparam logic [7:0] OP_NON_IEXP_MAN = 8'd8;
  localparam logic [7:0] OP_NON_IEXP_OPT = 8'd9;
  localparam logic [7:0] OP_NON_IMAN_MAN = 8'd10;
  localparam logic [7:0] OP_NON_DEXP_MAN = 8'd12;
  localparam logic [7:0] OP_NON_DEXP_OPT = 8'd13;
  localparam logic [7:0] OP_NON_DMAN_MAN = 8'd14;
  localparam logic [7:0] OP_NON_ASCII_MAN = 8'd16;
  localparam logic [7:0] OP_NON_ASCII_OPT = 8'd17;
  localparam logic [7:0] OP_NON_UNI_MAN = 8'd18;
  localparam logic [7:0] OP_NON_UNI_OPT = 8'd19;
  localparam logic [7:0] OP_NON_BYTES_MAN = 8'd20;
  localparam logic [7:0] OP_NON_BYTES_OPT = 8'd21;
  localparam logic [7:0] OP_NON_BITS_MAN = 8'd22;
  localparam logic [7:0] OP_CON_U32_MAN = 8'd32;
  localparam logic [7:0] OP_CON_U32_OPT = 8'd33;
  localparam logic [7:0] OP_CON_S32_OPT = 8'd35;
  localparam logic [7:0] OP_CON_U64_OPT = 8'd37;
  localparam logic [7:0] OP_CON_S64_OPT = 8'd39;
  localparam logic [7:0] OP_CON_IEXP_MAN = 8'd40;
  localparam logic [7:0] OP_CON_IEXP_OPT = 8'd41;
  localparam logic [7:0] OP_CON_IMAN_MAN = 8'd42;
  localparam logic [7:0] OP_CON_DEXP_OPT = 8'd45;
  localparam logic [7:0] OP_CON_DMAN_MAN = 8'd46;
  localparam logic [7:0] OP_CON_ASCII_OPT = 8'd49;
  localparam logic [7:0] OP_CON_UNI_OPT = 8'd51;
  localparam logic [7:0] OP_CON_BYTES_OPT = 8'd53;
  localparam logic [7:0] OP_CON_BITS_MAN = 8'd54;
  localparam logic [7:0] OP_DEF_U32_MAN = 8'd64;
  localparam logic [7:0] OP_DEF_U32_OPT = 8'd65;
  localparam logic [7:0] OP_DEF_S32_MAN = 8'd66;
  localparam logic [7:0] OP_DEF_S32_OPT = 8'd67;
  localparam logic [7:0] OP_DEF_U64_MAN = 8'd68;
  localparam logic [7:0] OP_DEF_U64_OPT = 8'd69;
  localparam logic [7:0] OP_DEF_S64_MAN = 8'd70;
  localparam logic [7:0] OP_DEF_S64_OPT = 8'd71;
  localparam logic [7:0] OP_DEF_IEXP_MAN = 8'd72;
  localparam logic [7:0] OP_DEF_IEXP_OPT = 8'd73;
  localparam logic [7:0] OP_DEF_IMAN_MAN = 8'd74;
  localparam logic [7:0] OP_DEF_DEXP_MAN = 8'd76;
  localparam logic [7:0] OP_DEF_DEXP_OPT = 8'd77;
  localparam logic [7:0] OP_DEF_DMAN_MAN = 8'd78;
  localparam logic [7:0] OP_DEF_ASCII_MAN = 8'd80;
  localparam logic [7:0] OP_DEF_ASCII_OPT = 8'd81;
  localparam logic [7:0] OP_DEF_UNI_MAN = 8'd82;
  localparam logic [7:0] OP_DEF_UNI_OPT = 8'd83;
  localparam logic [7:0] OP_DEF_BYTES_MAN = 8'd84;
  localparam logic [7:0] OP_DEF_BYTES_OPT = 8'd85;
  localparam logic [7:0] OP_DEF_BITS_MAN = 8'd86;
  localparam logic [7:0] OP_COP_U32_MAN = 8'd96;
  localparam logic [7:0] OP_COP_U32_OPT = 8'd97;
  localparam logic [7:0] OP_COP_S32_MAN = 8'd98;
  localparam logic [7:0] OP_COP_S32_OPT = 8'd99;
  localparam logic [7:0] OP_COP_U64_MAN = 8'd100;
  localparam logic [7:0] OP_COP_U64_OPT = 8'd101;
  localparam logic [7:0] OP_COP_S64_MAN = 8'd102;
  localparam logic [7:0] OP_COP_S64_OPT = 8'd103;
  localparam logic [7:0] OP_COP_IEXP_MAN = 8'd104;
  localparam logic [7:0] OP_COP_IEXP_OPT = 8'd105;
  localparam logic [7:0] OP_COP_IMAN_MAN = 8'd106;
  localparam logic [7:0] OP_COP_DEXP_MAN = 8'd108;
  localparam logic [7:0] OP_COP_DEXP_OPT = 8'd109;
  localparam logic [7:0] OP_COP_DMAN_MAN = 8'd110;
  localparam logic [7:0] OP_COP_ASCII_MAN = 8'd112;
  localparam logic [7:0] OP_COP_ASCII_OPT = 8'd113;
  localparam logic [7:0] OP_COP_UNI_MAN = 8'd114;
  localparam logic [7:0] OP_COP_UNI_OPT = 8'd115;
  localparam logic [7:0] OP_COP_BYTES_MAN = 8'd116;
  localparam logic [7:0] OP_COP_BYTES_OPT = 8'd117;
  localparam logic [7:0] OP_COP_BITS_MAN = 8'd118;
  localparam logic [7:0] OP_INC_U32_MAN = 8'd128;
  localparam logic [7:0] OP_INC_U32_OPT = 8'd129;
  localparam logic [7:0] OP_INC_S32_MAN = 8'd130;
  localparam logic [7:0] OP_INC_S32_OPT = 8'd131;
  localparam logic [7:0] OP_INC_U64_MAN = 8'd132;
  localparam logic [7:0] OP_INC_U64_OPT = 8'd133;
  localparam logic [7:0] OP_INC_S64_MAN = 8'd134;
  localparam logic [7:0] OP_INC_S64_OPT = 8'd135;
  localparam logic [7:0] OP_INC_IEXP_MAN = 8'd136;
  localparam logic [7:0] OP_INC_IEXP_OPT = 8'd137;
  localparam logic [7:0] OP_INC_IMAN_MAN = 8'd138;
  localparam logic [7:0] OP_INC_BITS_MAN = 8'd150;
  localparam logic [7:0] OP_DEL_U32_MAN = 8'd160;
  localparam logic [7:0] OP_DEL_U32_OPT = 8'd161;
  localparam logic [7:0] OP_DEL_S32_MAN = 8'd162;
  localparam logic [7:0] OP_DEL_S32_OPT = 8'd163;
  localparam logic [7:0] OP_DEL_U64_MAN = 8'd164;
  localparam logic [7:0] OP_DEL_U64_OPT = 8'd165;
  localparam logic [7:0] OP_DEL_S64_MAN = 8'd166;
  localparam logic [7:0] OP_DEL_S64_OPT = 8'd167;
  localparam logic [7:0] OP_DEL_IEXP_MAN = 8'd168;
  localparam logic [7:0] OP_DEL_IEXP_OPT = 8'd169;
  localparam logic [7:0] OP_DEL_IMAN_MAN = 8'd170;
  localparam logic [7:0] OP_DEL_DEXP_MAN = 8'd172;
  localparam logic [7:0] OP_DEL_DEXP_OPT = 8'd173;
  localparam logic [7:0] OP_DEL_DMAN_MAN = 8'd174;
  localparam logic [7:0] OP_DEL_ASCII_MAN = 8'd176;
  localparam logic [7:0] OP_DEL_ASCII_OPT = 8'd177;
  localparam logic [7:0] OP_DEL_UNI_MAN = 8'd178;
  localparam logic [7:0] OP_DEL_UNI_OPT = 8'd179;
  localparam logic [7:0] OP_DEL_BYTES_MAN = 8'd180;
  localparam logic [7:0] OP_DEL_BYTES_OPT = 8'd181;
  localparam logic [7:0] OP_DEL_BITS_MAN = 8'd182;
  localparam logic [7:0] OP_TAI_ASCII_MAN = 8'd208;
  localparam logic [7:0] OP_TAI_ASCII_OPT = 8'd209;
  localparam logic [7:0] OP_TAI_UNI_MAN = 8'd210;
  localparam logic [7:0] OP_TAI_UNI_OPT = 8'd211;
  localparam logic [7:0] OP_TAI_BYTES_MAN = 8'd212;
  localparam logic [7:0] OP_TAI_BYTES_OPT = 8'd213;
  localparam logic [7:0] OP_NOP = 8'd224;
  localparam logic [7:0] OP_PMAP = 8'd225;
  localparam logic [7:0] OP_TID = 8'd226;
  localparam logic [7:0] OP_BIT_U64_MAN = 8'd228;
  localparam logic [7:0] OP_BIT_U64_OPT = 8'd229;
  localparam logic [7:0] OP_BIT_S64_MAN = 8'd230;
  localparam logic [7:0] OP_BIT_S64_OPT = 8'd231;

  // Control-ops.
  localparam logic [3:0] CONTROL_NEXT = 4'd0;
  localparam logic [3:0] CONTROL_BLOCK = 4'd1;
  localparam logic [3:0] CONTROL_SEQ = 4'd2;
  localparam logic [3:0] CONTROL_LEND = 4'd3;
  localparam logic [3:0] CONTROL_SKIP = 4'd4;
  localparam logic [3:0] CONTROL_POP = 4'd5;
  localparam logic [3:0] CONTROL_DISP = 4'd6;
  localparam logic [3:0] CONTROL_CALL = 4'd7;
  localparam logic [3:0] CONTROL_END = 4'd8;
  localparam logic [3:0] CONTROL_JOIN = 4'd9;

  // Codes of errors.
  localparam logic [7:0] ERROR_NONE = 8'd0;
  localparam logic [7:0] ERROR_S1 = 8'd1;
  localparam logic [7:0] ERROR_S2 = 8'd2;
  localparam logic [7:0] ERROR_S3 = 8'd3;
  localparam logic [7:0] ERROR_S4 = 8'd4;
  localparam logic [7:0] ERROR_S5 = 8'd5;
  localparam logic [7:0] ERROR_T1 = 8'd6;
  localparam logic [7:0] ERROR_T2 = 8'd7;
  localparam logic [7:0] ERROR_T3 = 8'd8;
  localparam logic [7:0] ERROR_T4 = 8'd9;
  localparam logic [7:0] ERROR_T5 = 8'd10;
  localparam logic [7:0] ERROR_D1 = 8'd11;
  localparam logic [7:0] ERROR_D2 = 8'd12;
  localparam logic [7:0] ERROR_D3 = 8'd13;
  localparam logic [7:0] ERROR_D4 = 8'd14;
  localparam logic [7:0] ERROR_D5 = 8'd15;
  localparam logic [7:0] ERROR_D6 = 8'd16;
  localparam logic [7:0] ERROR_D7 = 8'd17;
  localparam logic [7:0] ERROR_D8 = 8'd18;
  localparam logic [7:0] ERROR_D9 = 8'd19;
  localparam logic [7:0] ERROR_D10 = 8'd20;
  localparam logic [7:0] ERROR_D11 = 8'd21;
  localparam logic [7:0] ERROR_D12 = 8'd22;
  localparam logic [7:0] ERROR_X1 = 8'd23;
  localparam logic [7:0] ERROR_X2 = 8'd24;
  localparam logic [7:0] ERROR_X3 = 8'd25;
  localparam logic [7:0] ERROR_X4 = 8'd26;
  localparam logic [7:0] ERROR_X5 = 8'd27;
  localparam logic [7:0] ERROR_X6 = 8'd28;
  localparam logic [7:0] ERROR_X7 = 8'd29;
  localparam logic [7:0] ERROR_X8 = 8'd30;
  localparam logic [7:0] ERROR_X9 = 8'd31;
  localparam logic [7:0] ERROR_X10 = 8'd32;
  localparam logic [7:0] ERROR_R1 = 8'd33;
  localparam logic [7:0] ERROR_R2 = 8'd34;
  localparam logic [7:0] ERROR_R3 = 8'd35;
  localparam logic [7:0] ERROR_R4 = 8'd36;
  localparam logic [7:0] ERROR_R5 = 8'd37;
  localparam logic [7:0] ERROR_R6 = 8'd38;
  localparam logic [7:0] ERROR_R7 = 8'd39;
  localparam logic [7:0] ERROR_R8 = 8'd40;
  localparam logic [7:0] ERROR_R9 = 8'd41;
  localparam logic [7:0] ERROR_X11 = 8'd42;
  localparam logic [7:0] ERROR_X12 = 8'd43;
  localparam logic [7:0] ERROR_X13 = 8'd44;
  localparam logic [7:0] ERROR_X14 = 8'd45;
  localparam logic [7:0] ERROR_X15 = 8'd46;

  // Capabilities: the bit of each.
  localparam int unsigned CAPABILITY_INTEGERS = 0;
  localparam int unsigned CAPABILITY_DECIMALS = 1;
  localparam int unsigned CAPABILITY_STRINGS = 2;
  localparam int unsigned CAPABILITY_STRING_COPIES = 3;
  localparam int unsigned CAPABILITY_STRING_DELTAS = 4;
  localparam int unsigned CAPABILITY_STRING_TAILS = 5;
  localparam int unsigned CAPABILITY_VECTORS = 6;
  localparam int unsigned CAPABILITY_VECTOR_COPIES = 7;
  localparam int unsigned CAPABILITY_DYNAMIC_REFERENCES = 8;
  localparam int unsigned CAPABILITY_BIT_GROUPS = 9;

  // Whether the data-op takes a presence bit.
  function automatic logic takes_own_bit(logic [7:0] op);
    case (op)
      OP_CON_U32_OPT,
      OP_CON_S32_OPT,
      OP_CON_U64_OPT,
      OP_CON_S64_OPT,
      OP_CON_IEXP_OPT,
      OP_CON_DEXP_OPT,
      OP_CON_ASCII_OPT,
      OP_CON_UNI_OPT,
      OP_CON_BYTES_OPT,
      OP_DEF_U32_MAN,
      OP_DEF_U32_OPT,
      OP_DEF_S32_MAN,
      OP_DEF_S32_OPT,
      OP_DEF_U64_MAN,
      OP_DEF_U64_OPT,
      OP_DEF_S64_MAN,
      OP_DEF_S64_OPT,
      OP_DEF_IEXP_MAN,
      OP_DEF_IEXP_OPT,
      OP_DEF_DEXP_MAN,
      OP_DEF_DEXP_OPT,
      OP_DEF_ASCII_MAN,
      OP_DEF_ASCII_OPT,
      OP_DEF_UNI_MAN,
      OP_DEF_UNI_OPT,
      OP_DEF_BYTES_MAN,
      OP_DEF_BYTES_OPT,
      OP_DEF_BITS_MAN,
      OP_COP_U32_MAN,
      OP_COP_U32_OPT,
      OP_COP_S32_MAN,
      OP_COP_S32_OPT,
      OP_COP_U64_MAN,
      OP_COP_U64_OPT,
      OP_COP_S64_MAN,
      OP_COP_S64_OPT,
      OP_COP_IEXP_MAN,
      OP_COP_IEXP_OPT,
      OP_COP_DEXP_MAN,
      OP_COP_DEXP_OPT,
      OP_COP_ASCII_MAN,
      OP_COP_ASCII_OPT,
      OP_COP_UNI_MAN,
      OP_COP_UNI_OPT,
      OP_COP_BYTES_MAN,
      OP_COP_BYTES_OPT,
      OP_COP_BITS_MAN,
      OP_INC_U32_MAN,
      OP_INC_U32_OPT,
      OP_INC_S32_MAN,
      OP_INC_S32_OPT,
      OP_INC_U64_MAN,
      OP_INC_U64_OPT,
      OP_INC_S64_MAN,
      OP_INC_S64_OPT,
      OP_INC_IEXP_MAN,
      OP_INC_IEXP_OPT,
      OP_INC_BITS_MAN,
      OP_TAI_ASCII_MAN,
      OP_TAI_ASCII_OPT,
      OP_TAI_UNI_MAN,
      OP_TAI_UNI_OPT,
      OP_TAI_BYTES_MAN,
      OP_TAI_BYTES_OPT: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  // Whether it takes one if the exponent before it is present.
  function automatic logic takes_bit_if_exponent(logic [7:0] op);
    case (op)
      OP_DEF_IMAN_MAN,
      OP_COP_IMAN_MAN,
      OP_INC_IMAN_MAN: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  // Whether its slot column names a dictionary slot.
  function automatic logic uses_slot(logic [7:0] op);
    case (op)
      OP_COP_U32_MAN,
      OP_COP_U32_OPT,
      OP_COP_S32_MAN,
      OP_COP_S32_OPT,
      OP_COP_U64_MAN,
      OP_COP_U64_OPT,
      OP_COP_S64_MAN,
      OP_COP_S64_OPT,
      OP_COP_IEXP_MAN,
      OP_COP_IEXP_OPT,
      OP_COP_IMAN_MAN,
      OP_COP_DEXP_MAN,
      OP_COP_DEXP_OPT,
      OP_COP_DMAN_MAN,
      OP_COP_ASCII_MAN,
      OP_COP_ASCII_OPT,
      OP_COP_UNI_MAN,
      OP_COP_UNI_OPT,
      OP_COP_BYTES_MAN,
      OP_COP_BYTES_OPT,
      OP_COP_BITS_MAN,
      OP_INC_U32_MAN,
      OP_INC_U32_OPT,
      OP_INC_S32_MAN,
      OP_INC_S32_OPT,
      OP_INC_U64_MAN,
      OP_INC_U64_OPT,
      OP_INC_S64_MAN,
      OP_INC_S64_OPT,
      OP_INC_IEXP_MAN,
      OP_INC_IEXP_OPT,
      OP_INC_IMAN_MAN,
      OP_INC_BITS_MAN,
      OP_DEL_U32_MAN,
      OP_DEL_U32_OPT,
      OP_DEL_S32_MAN,
      OP_DEL_S32_OPT,
      OP_DEL_U64_MAN,
      OP_DEL_U64_OPT,
      OP_DEL_S64_MAN,
      OP_DEL_S64_OPT,
      OP_DEL_IEXP_MAN,
      OP_DEL_IEXP_OPT,
      OP_DEL_IMAN_MAN,
      OP_DEL_DEXP_MAN,
      OP_DEL_DEXP_OPT,
      OP_DEL_DMAN_MAN,
      OP_DEL_ASCII_MAN,
      OP_DEL_ASCII_OPT,
      OP_DEL_UNI_MAN,
      OP_DEL_UNI_OPT,
      OP_DEL_BYTES_MAN,
      OP_DEL_BYTES_OPT,
      OP_DEL_BITS_MAN,
      OP_TAI_ASCII_MAN,
      OP_TAI_ASCII_OPT,
      OP_TAI_UNI_MAN,
      OP_TAI_UNI_OPT,
      OP_TAI_BYTES_MAN,
      OP_TAI_BYTES_OPT: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction
endpackage
