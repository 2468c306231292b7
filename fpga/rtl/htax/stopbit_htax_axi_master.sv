/// Writes and reads of the units in the host's memory, from the bridge's streams to AXI.
///
/// Everything has one ID. A read waits until all writes before it have their response, so that it finds what they wrote;
/// meanwhile later writes wait. A packet of one phit of data has byte enables. A write or read that is not aligned to 8
/// bytes, crosses 4 KiB, or has no data or more than 8 phits, does not reach memory: it is counted (`refused_*_o`), and a
/// read is answered with an error. So is a read that memory refuses.
module stopbit_htax_axi_master
  import stopbit_htax_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        posted_valid_i,
  output logic        posted_ready_o,
  input  logic [63:0] posted_phit_i,
  input  logic        request_valid_i,
  output logic        request_ready_o,
  input  logic [63:0] request_phit_i,
  output logic        response_valid_o,
  input  logic        response_ready_i,
  output logic [63:0] response_phit_o,

  output logic        awvalid_o,
  input  logic        awready_i,
  output logic [47:0] awaddr_o,
  output logic [7:0]  awlen_o,
  output logic        wvalid_o,
  input  logic        wready_i,
  output logic [63:0] wdata_o,
  output logic [7:0]  wstrb_o,
  output logic        wlast_o,
  input  logic        bvalid_i,
  output logic        bready_o,
  input  logic [1:0]  bresp_i,
  output logic        arvalid_o,
  input  logic        arready_i,
  output logic [47:0] araddr_o,
  output logic [7:0]  arlen_o,
  input  logic        rvalid_i,
  output logic        rready_o,
  input  logic [63:0] rdata_i,
  input  logic [1:0]  rresp_i,
  input  logic        rlast_i,

  output logic        refused_write_o,
  output logic        refused_read_o,
  output logic        write_error_o
);
  localparam int unsigned Most = 64;  // writes without response

  function automatic logic fits(input logic [11:0] address, input logic [3:0] phits);
    return address[2:0] == '0 && phits != '0 && phits <= 4'(WritePhits) && 10'(address[11:3]) + 10'(phits) <= 10'd512;
  endfunction

  // ---- writes
  typedef enum logic [1:0] {Header, Address, Data, Discard} write_e;
  write_e               write_q;
  htax_header_t         header, write;
  logic [3:0]           left_q;
  logic [$clog2(Most):0] open_q;  // writes without response
  logic                 reads_wait, starts, ends;
  assign header         = posted_phit_i;
  assign starts         = posted_valid_i && write_q == Header && !reads_wait && open_q != ($clog2(Most) + 1)'(Most);
  assign posted_ready_o = write_q == Header ? starts : write_q == Data ? wready_i : write_q == Discard;
  assign awvalid_o = write_q == Address;
  assign awaddr_o  = write.address;
  assign awlen_o   = 8'(write.length) - 8'd1;
  assign wvalid_o  = write_q == Data && posted_valid_i;
  assign wdata_o   = posted_phit_i;
  assign wstrb_o   = write.length == 4'd1 ? {write.origin[2:0], write.tag} : '1;
  assign wlast_o   = left_q == 4'd1;
  assign ends      = posted_valid_i && posted_ready_o && left_q == 4'd1;
  assign bready_o  = 1'b1;
  always_ff @(posedge clk_i) begin
    if (starts) write <= header;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q       <= Header;
      open_q        <= '0;
      write_error_o <= 1'b0;
    end else begin
      write_error_o <= bvalid_i && bresp_i[1];
      open_q        <= open_q + ($clog2(Most) + 1)'(starts && fits(header.address[11:0], header.length)) -
                       ($clog2(Most) + 1)'(bvalid_i && open_q != '0);
      unique case (write_q)
        Header: if (starts) begin
          left_q <= header.length;
          if (fits(header.address[11:0], header.length)) write_q <= Address;
          else if (header.length != '0) write_q <= Discard;
        end
        Address: if (awready_i) write_q <= Data;
        default: if (posted_valid_i && posted_ready_o) begin
          left_q <= left_q - 4'd1;
          if (ends) write_q <= Header;
        end
      endcase
    end
  end

  // ---- reads: what was asked for, in order
  typedef enum logic [1:0] {AskHeader, AskLength, AskDrain, AskAddress} ask_e;
  ask_e         ask_q;
  htax_header_t asked_now, asked_q;
  logic [3:0]   phits_q, drain_q;
  logic         is_bad, put, reads_free;
  logic [9:0]   pending [0:Tags-1];        // tag, phits, refused
  logic [TagWidth:0] put_q, take_q;
  assign asked_now  = request_phit_i;
  assign is_bad     = asked_q.length != 4'd1 || phits_q == '0 || !fits(asked_q.address[11:0], phits_q);
  assign reads_free = put_q - take_q != (TagWidth + 1)'(Tags);
  assign reads_wait = ask_q == AskAddress && !is_bad;
  assign request_ready_o = ask_q == AskHeader || ask_q == AskLength || ask_q == AskDrain;
  // Memory refuses nothing that fits; all writes before it have their response.
  assign arvalid_o = reads_wait && reads_free && open_q == '0 && write_q == Header;
  assign araddr_o  = asked_q.address;
  assign arlen_o   = 8'(phits_q) - 8'd1;
  assign put       = ask_q == AskAddress && reads_free && (is_bad || (arvalid_o && arready_i));
  always_ff @(posedge clk_i) begin
    if (ask_q == AskHeader) asked_q <= asked_now;
    if (ask_q == AskLength) phits_q <= |request_phit_i[63:4] ? '0 : request_phit_i[3:0];
    if (put) pending[put_q[TagWidth-1:0]] <= {asked_q.tag, phits_q, is_bad};
    refused_write_o <= rst_ni && starts && !fits(header.address[11:0], header.length);
    refused_read_o  <= rst_ni && put && is_bad;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ask_q <= AskHeader;
      put_q <= '0;
    end else begin
      if (put) put_q <= put_q + 1'b1;
      unique case (ask_q)
        AskHeader: if (request_valid_i) begin
          drain_q <= asked_now.length - 4'd1;
          ask_q   <= asked_now.length == '0 ? AskAddress : AskLength;
        end
        AskLength: if (request_valid_i) ask_q <= drain_q == '0 ? AskAddress : AskDrain;
        AskDrain: if (request_valid_i) begin
          drain_q <= drain_q - 4'd1;
          if (drain_q == 4'd1) ask_q <= AskAddress;
        end
        default: if (put) ask_q <= AskHeader;
      endcase
    end
  end

  // ---- responses: gathered, as the header says whether memory refused one of its beats
  typedef enum logic [1:0] {Gather, SendHeader, SendData} answer_e;
  answer_e      answer_q;
  logic [63:0]  data_mem [0:WritePhits-1];
  logic [3:0]   got_q, at_q, phits;
  logic [4:0]   tag;
  logic         refused, has_pending, failed_q, keeps;
  htax_header_t response;
  assign {tag, phits, refused} = pending[take_q[TagWidth-1:0]];
  assign has_pending = put_q != take_q;
  assign rready_o    = answer_q == Gather && has_pending && !refused;
  assign keeps       = rvalid_i && rready_o && got_q < 4'(WritePhits);
  always_comb begin
    response         = '0;
    response.error   = failed_q;
    response.channel = RESPONSE;
    response.length  = failed_q ? '0 : got_q;
    response.tag     = tag;
  end
  assign response_valid_o = answer_q != Gather;
  assign response_phit_o  = answer_q == SendHeader ? response : data_mem[at_q[2:0]];
  always_ff @(posedge clk_i) begin
    if (keeps) data_mem[got_q[2:0]] <= rdata_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      answer_q <= Gather;
      take_q   <= '0;
      got_q    <= '0;
      failed_q <= 1'b0;
    end else begin
      unique case (answer_q)
        Gather: begin
          at_q <= '0;
          if (has_pending && refused) begin
            failed_q <= 1'b1;
            answer_q <= SendHeader;
          end else if (rvalid_i && rready_o) begin
            if (keeps) got_q <= got_q + 4'd1;
            // A memory that gives more or fewer beats than it was asked for has failed, too.
            if (rresp_i[1] || !keeps || (rlast_i && got_q + 4'd1 != phits)) failed_q <= 1'b1;
            if (rlast_i) answer_q <= SendHeader;
          end
        end
        default: if (response_ready_i) begin
          answer_q <= SendData;
          if (answer_q == SendData) at_q <= at_q + 4'd1;
          if (failed_q || (answer_q == SendData && at_q + 4'd1 == got_q)) begin
            answer_q <= Gather;
            take_q   <= take_q + 1'b1;
            got_q    <= '0;
            failed_q <= 1'b0;
          end
        end
      endcase
    end
  end
endmodule
