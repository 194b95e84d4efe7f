/*
 * The whole program: main() only calls it.
 */
#ifndef CONSPECT_AGENTD_AGENT_H
#define CONSPECT_AGENTD_AGENT_H

/* Returns the exit status: 0, 1 for a failure, 2 for a wrong command line. */
int agent_main(int argc, char **argv);

#endif
