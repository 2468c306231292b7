#pragma once

#include <cstddef>
#include <vector>

#include "tests/attack/target.hpp"
#include "tests/lib/random.hpp"
#include "tests/property/random_case.hpp"

namespace stopbit::attack {

/// The bytes of a packet.
[[nodiscard]] Bytes joined(const cases::RandomCase::Packet& packet);

/// Packet number `which` with one to four changes, most of them of whole entities: taken out, doubled, exchanged, from
/// another message, another number, longer, without stop bit; and some of bits and lengths.
[[nodiscard]] Bytes change_entities(const std::vector<cases::RandomCase::Packet>& packets, std::size_t which,
                                    cases::Random& random);

}  // namespace stopbit::attack
