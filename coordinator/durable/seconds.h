// Seconds are the pure core's unit of time.
#ifndef WHETSTONE_COORDINATOR_DURABLE_SECONDS_H_
#define WHETSTONE_COORDINATOR_DURABLE_SECONDS_H_

namespace whetstone {

// The seconds are of a monotonic clock, or between two of its readings.
using Seconds = double;

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_SECONDS_H_
