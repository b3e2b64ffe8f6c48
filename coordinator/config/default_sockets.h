// Services listen on these sockets unless a campaign says otherwise; deploy/systemd/ has the same.
#ifndef WHETSTONE_COORDINATOR_CONFIG_DEFAULT_SOCKETS_H_
#define WHETSTONE_COORDINATOR_CONFIG_DEFAULT_SOCKETS_H_

namespace whetstone {

inline constexpr char kDefaultTrainerSocket[] = "/run/whetstone/trainer.sock";
inline constexpr char kDefaultWorkerSocket[] = "/run/whetstone/worker.sock";

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_DEFAULT_SOCKETS_H_
