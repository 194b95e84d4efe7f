/* The API program: everything is in lib/web. */
#include "web/api.h"

int
main(void)
{
	return web_main(&api_app);
}
