/**
 * NOTIFY channel of status changes and log output: `move <action>` and `log <action> <target> <step> <end offset>`.
 * Ids only: a payload is limited in size, and the rows have the rest.
 */
export const ACTIONS_CHANNEL = 'actions'
