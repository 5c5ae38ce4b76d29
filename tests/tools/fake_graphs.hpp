// What tests read and set of fake_graphs.cpp.
#pragma once
#include <string>

namespace mgemm::test {

struct FakeGraphs {
  std::string replays;   // a letter each, A for the graph that was made first
  double node_us = 2;    // what each node takes
  int programmatic = 0;  // edges of each graph that are
  int graphs = 0, executables = 0, events = 0, streams = 0, captures = 0;  // that have not been ended
  int made = 0;                                                            // executables
  const char* fails = "";                                                  // a call that does

  bool nothing_left() const { return graphs + executables + events + streams + captures == 0; }
};

using FakeGraphsFunction = FakeGraphs*();

}  // namespace mgemm::test
