/**
 * Where moves and logs of actions are told of, by NOTIFY, to whoever watches: `move <action>` and
 * `log <action> <target> <step> <end offset>`. Ids only: a message has no room for more, and rows say the rest.
 */
export const ACTIONS_CHANNEL = 'actions'
