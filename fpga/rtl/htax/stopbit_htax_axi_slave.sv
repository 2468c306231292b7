/// Writes and reads of the host, from AXI to the bridge's streams.
///
/// Writes are posted: the host has its response when the last beat is here. What is written whole leaves in packets of
/// up to 8 phits of data; of a beat with byte enables each leaves by itself, with its mask.
///
/// One read is under way at a time, in pieces of 8 phits. Its tag is another one each time, so a response that comes
/// after `timeout_i` cycles (0: never) is known for a late one: the host has had an error by then. So it has if the
/// bridge takes no request for that time, since units take none. A response with another length than was asked for is an
/// error, too.
module stopbit_htax_axi_slave
  import stopbit_htax_pkg::*;
#(
  parameter int unsigned IdWidth = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [31:0]        timeout_i,

  input  logic               awvalid_i,
  output logic               awready_o,
  input  logic [IdWidth-1:0] awid_i,
  input  logic [47:0]        awaddr_i,
  input  logic               wvalid_i,
  output logic               wready_o,
  input  logic [63:0]        wdata_i,
  input  logic [7:0]         wstrb_i,
  input  logic               wlast_i,
  output logic               bvalid_o,
  input  logic               bready_i,
  output logic [IdWidth-1:0] bid_o,
  input  logic               arvalid_i,
  output logic               arready_o,
  input  logic [IdWidth-1:0] arid_i,
  input  logic [47:0]        araddr_i,
  input  logic [7:0]         arlen_i,
  output logic               rvalid_o,
  input  logic               rready_i,
  output logic [IdWidth-1:0] rid_o,
  output logic [63:0]        rdata_o,
  output logic [1:0]         rresp_o,
  output logic               rlast_o,

  output logic               posted_valid_o,
  input  logic               posted_ready_i,
  output logic [63:0]        posted_phit_o,
  output logic               request_valid_o,
  input  logic               request_ready_i,
  output logic [63:0]        request_phit_o,
  input  logic               response_valid_i,
  output logic               response_ready_o,
  input  logic [63:0]        response_phit_i,

  output logic               late_o,     // a response that comes too late, or to no request
  output logic               timed_out_o
);
  localparam logic [1:0] SLVERR = 2'b10;

  // ---- writes: a piece of a burst is gathered, and then leaves
  typedef enum logic [1:0] {Idle, Gather, Send, Answer} write_e;
  write_e             write_q;
  logic [63:0]        data_mem [0:WritePhits-1];
  logic [7:0]         mask_mem [0:WritePhits-1];
  logic [47:3]        place_q;              // of the piece
  logic [3:0]         count_q, at_q, next;  // beats that are gathered; the one that leaves
  logic               whole_q, last_q, in_data_q, gathers, leaves, piece_ends;
  logic [7:0]         mask;
  htax_header_t       header;
  assign awready_o = write_q == Idle;
  assign wready_o  = write_q == Gather;
  assign bvalid_o  = write_q == Answer;
  assign gathers   = wvalid_i && wready_o;
  assign mask      = mask_mem[at_q[2:0]];
  assign next      = at_q + 4'd1;
  always_comb begin
    header         = '0;
    header.channel = POSTED;
    header.length  = whole_q ? count_q : 4'd1;
    {header.origin[2:0], header.tag} = whole_q ? 8'hFF : mask;
    header.address = {place_q + (whole_q ? 45'd0 : 45'(at_q)), 3'd0};
  end
  // A beat of which nothing is written is passed over.
  assign posted_valid_o = write_q == Send && (in_data_q || whole_q || mask != '0);
  assign posted_phit_o  = in_data_q ? data_mem[at_q[2:0]] : header;
  assign leaves         = write_q == Send && (posted_ready_i || !posted_valid_o);
  assign piece_ends     = leaves && next == count_q && (in_data_q || !posted_valid_o);

  always_ff @(posedge clk_i) begin
    if (gathers) begin
      data_mem[count_q[2:0]] <= wdata_i;
      mask_mem[count_q[2:0]] <= wstrb_i;
      last_q                 <= wlast_i;
    end
    if (awvalid_i && awready_o) bid_o <= awid_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q   <= Idle;
      in_data_q <= 1'b0;
    end else begin
      unique case (write_q)
        Idle: begin
          if (awvalid_i) begin
            write_q <= Gather;
            place_q <= awaddr_i[47:3];
          end
          count_q <= '0;
          whole_q <= 1'b1;
        end
        Gather: begin
          at_q <= '0;
          if (gathers) begin
            count_q <= count_q + 4'd1;
            whole_q <= whole_q && wstrb_i == '1;
            if (wlast_i || count_q == 4'(WritePhits - 1)) write_q <= Send;
          end
        end
        Send: begin
          if (leaves) begin
            // The header of a beat, and its data; or one header, and all data.
            in_data_q <= posted_valid_o && (!in_data_q || (whole_q && !piece_ends));
            if (in_data_q || !posted_valid_o) at_q <= next;
          end
          if (piece_ends) begin
            write_q <= last_q ? Answer : Gather;
            place_q <= place_q + 45'(count_q);
            count_q <= '0;
            whole_q <= 1'b1;
          end
        end
        default: if (bready_i) write_q <= Idle;
      endcase
    end
  end

  // ---- reads
  typedef enum logic [2:0] {Free, Ask, AskLength, Wait, Give, Fail} read_e;
  read_e        read_q;
  logic [47:3]  from_q;
  logic [8:0]   left_q;       // beats that the host has not got
  logic [3:0]   piece;        // beats of this request
  logic [3:0]   given_q;      // phits of the response that are still to come
  logic [4:0]   tag_q;
  logic [31:0]  waited_q;
  logic         drops_q, beat;
  logic         owes_q;       // the length of a request whose time is over
  logic [3:0]   owed_q;
  logic         asks, sent, hears;
  htax_header_t asked, answered;
  assign piece    = left_q > 9'(WritePhits) ? 4'(WritePhits) : left_q[3:0];
  assign answered = response_phit_i;
  always_comb begin
    asked         = '0;
    asked.channel = NONPOSTED;
    asked.length  = 4'd1;
    asked.origin  = 4'd2;  // the host's port for responses
    asked.tag     = tag_q;
    asked.address = {from_q, 3'd0};
  end
  assign arready_o       = read_q == Free;
  assign asks            = read_q == Ask || read_q == AskLength;
  assign request_valid_o = owes_q || asks;
  assign request_phit_o  = owes_q ? 64'(owed_q) : read_q == Ask ? asked : 64'(piece);
  assign sent            = request_ready_i && !owes_q;
  // Phits of a response that is not for the host are dropped.
  logic is_header, is_ours, is_good;
  assign is_header        = given_q == '0;
  assign is_ours          = read_q == Wait && answered.tag == tag_q;
  assign is_good          = is_ours && !answered.error && answered.length == piece;
  assign response_ready_o = is_header || drops_q || (read_q == Give && rready_i);
  assign rvalid_o = (read_q == Give && response_valid_i && !is_header && !drops_q) || read_q == Fail;
  assign rdata_o  = read_q == Fail ? '0 : response_phit_i;
  assign rresp_o  = read_q == Fail ? SLVERR : 2'b00;
  assign rlast_o  = left_q == 9'd1;
  assign beat     = rvalid_o && rready_i;
  assign late_o   = response_valid_i && response_ready_o && is_header && !is_ours;
  assign hears  = read_q == Wait && response_valid_i && is_header && is_ours;
  assign timed_out_o = (asks || read_q == Wait) && timeout_i != '0 && waited_q >= timeout_i && !(asks && sent) && !hears;

  always_ff @(posedge clk_i) begin
    waited_q <= asks || read_q == Wait ? waited_q + 32'd1 : '0;
    if (!owes_q) owed_q <= piece;
    if (arvalid_i && arready_o) rid_o <= arid_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q  <= Free;
      given_q <= '0;
      drops_q <= 1'b0;
      tag_q   <= '0;
      owes_q  <= 1'b0;
    end else begin
      if (response_valid_i && response_ready_o) begin
        given_q <= is_header ? answered.length : given_q - 4'd1;
        if (is_header) drops_q <= !is_good;
      end
      if (beat) begin
        left_q <= left_q - 9'd1;
        from_q <= from_q + 45'd1;
      end
      unique case (read_q)
        Free: if (arvalid_i) begin
          read_q <= Ask;
          from_q <= araddr_i[47:3];
          left_q <= 9'(arlen_i) + 9'd1;
        end
        Ask: begin
          if (sent) read_q <= AskLength;
          else if (timed_out_o) read_q <= Fail;
        end
        AskLength: begin
          if (sent) read_q <= Wait;
          else if (timed_out_o) read_q <= Fail;
        end
        Wait: begin
          if (hears) read_q <= is_good ? Give : Fail;
          else if (timed_out_o) read_q <= Fail;
        end
        Give: if (beat) begin
          if (rlast_o) read_q <= Free;
          else if (given_q == 4'd1) read_q <= Ask;
        end
        default: if (beat && rlast_o) read_q <= Free;  // all that is left
      endcase
      if (hears || timed_out_o) tag_q <= tag_q + 5'd1;
      if (owes_q) owes_q <= !request_ready_i;
      else owes_q <= timed_out_o && read_q == AskLength;
    end
  end
endmodule
