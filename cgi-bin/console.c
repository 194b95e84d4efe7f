/* The console program: everything is in lib/web. */
#include "web/console.h"

int
main(void)
{
	return web_main(&console_app);
}
