#pragma once

#include <memory>

#include "microcode/base/diagnostic.hpp"
#include "templates/ir/flow.hpp"
#include "templates/report.hpp"

/// Selects the fields that records hold, if not all.
namespace stopbit::templates::projection {

/// Marks what `fields` does not name as not stored. It is still decoded, for its dictionary entries and its errors.
///
/// `fields` holds names, separated by commas or line ends; the rest of a line after `#` is comment. A name is one of
///
///     Name                     a field, group, sequence or length, anywhere
///     Sequence/Name            the same in a sequence or group of that name
///     Template/Name            the same in the body of a template
///     Template/Sequence/Name   and so on: any number of the names around it
///
/// Each part may be a number, that of the `id` attribute, or `*`, which stands for every name. A group or sequence that
/// is named is stored with all that is in it. Around whatever is stored, the groups are too, and the lengths of the
/// sequences; dynamic template references always are.
///
/// Reports names that name nothing, with those that come near, and a list without names.
void apply(const std::shared_ptr<const SourceBuffer>& fields, ir::Module& module, Report& report);

}  // namespace stopbit::templates::projection
