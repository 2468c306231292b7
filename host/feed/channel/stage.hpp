#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "decoder/record/sink.hpp"

namespace stopbit::feed {

/// A step between engine and ring. It receives every record and event of its channels in order, and gives none, one or
/// more of them to `next()`:
///
/// - pass one on: open() returns the next stage's place, and commit() calls next().commit();
/// - drop one: commit() does not call next().commit(); the next open() then returns the same place;
/// - add one: after passing a record on, open next(), write, and commit there.
///
/// One thread, that of the engine. A stage must not allocate, lock or wait in open and commit.
///
/// Books are a stage, and recovery will be. A stage must neither delay nor reorder what goes to the ring: recovered
/// packets are published when they arrive, flagged as recovered. Only events that a stage derives from records may wait
/// for other records.
class Stage : public record::RecordSink {
 public:
  [[nodiscard]] Place open() noexcept override { return next_->open(); }

 protected:
  [[nodiscard]] record::RecordSink& next() const noexcept { return *next_; }

 private:
  friend class Stages;
  record::RecordSink* next_ = nullptr;
};

/// The stages between an engine and a ring, in order. An empty list costs nothing: the engine then writes to the ring.
class Stages {
 public:
  /// Appends a stage.
  void add(std::unique_ptr<Stage> stage) { stages_.push_back(std::move(stage)); }

  /// Connects the stages, the last one to `ring`, which must outlive them. Returns where the engine writes.
  [[nodiscard]] record::RecordSink& connect(record::RecordSink& ring) noexcept {
    record::RecordSink* next = &ring;
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
      (*stage)->next_ = next;
      next = stage->get();
    }
    return *next;
  }

 private:
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace stopbit::feed
