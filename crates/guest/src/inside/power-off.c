/* Switches the guest off: not every machine has a program for it that needs no init system. */
#include <stdio.h>
#include <sys/reboot.h>

int main(void)
{
	reboot(RB_POWER_OFF);
	perror("power off");
	return 1;
}
