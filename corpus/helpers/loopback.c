/* Takes the loopback device of a new network up and gives it the addresses of the arguments. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(int count, char **arguments) {
  int socket_fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  if (socket_fd < 0 || ioctl(socket_fd, SIOCSIFFLAGS, &request) != 0) {
    perror("loopback");
    return 1;
  }
  for (int at = 1; at < count; at++) {
    struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "lo:%d", at);
    address->sin_family = AF_INET;
    if (inet_pton(AF_INET, arguments[at], &address->sin_addr) != 1 ||
        ioctl(socket_fd, SIOCSIFADDR, &request) != 0) {
      perror(arguments[at]);
      return 1;
    }
    memset(&request.ifr_addr, 0, sizeof request.ifr_addr);
    address->sin_family = AF_INET;
    inet_pton(AF_INET, "255.255.255.255", &address->sin_addr);
    if (ioctl(socket_fd, SIOCSIFNETMASK, &request) != 0) {
      perror(arguments[at]);
      return 1;
    }
  }
  return 0;
}
