// Every combination of what can hold a run, and what is decided: read by decide-gate.test.ts.
//
// run: a deploy, or a rollback
// checks: none; waiting; green; red; overridden (still waiting, and a person let the run through)
// approval: none; asked; approved; rejected; expired; approved-late (approved in time, and the time has passed since)
// freezes: none in force; held by one; overridden (one, that a person let the run through); second (another one since);
//   later (the same one, in another window: the next one of every week, or moved since)
export const DECISIONS = `
  deploy   none       none          none       → open
  deploy   none       none          held       → closed freeze
  deploy   none       none          overridden → open
  deploy   none       none          second     → closed freeze
  deploy   none       none          later      → closed freeze
  deploy   none       asked         none       → closed approval
  deploy   none       asked         held       → closed approval
  deploy   none       asked         overridden → closed approval
  deploy   none       asked         second     → closed approval
  deploy   none       asked         later      → closed approval
  deploy   none       approved      none       → open
  deploy   none       approved      held       → closed freeze
  deploy   none       approved      overridden → open
  deploy   none       approved      second     → closed freeze
  deploy   none       approved      later      → closed freeze
  deploy   none       rejected      none       → ended approval rejected
  deploy   none       rejected      held       → ended approval rejected
  deploy   none       rejected      overridden → ended approval rejected
  deploy   none       rejected      second     → ended approval rejected
  deploy   none       rejected      later      → ended approval rejected
  deploy   none       expired       none       → ended approval expired
  deploy   none       expired       held       → ended approval expired
  deploy   none       expired       overridden → ended approval expired
  deploy   none       expired       second     → ended approval expired
  deploy   none       expired       later      → ended approval expired
  deploy   none       approved-late none       → open
  deploy   none       approved-late held       → closed freeze
  deploy   none       approved-late overridden → open
  deploy   none       approved-late second     → closed freeze
  deploy   none       approved-late later      → closed freeze
  deploy   waiting    none          none       → closed checks
  deploy   waiting    none          held       → closed checks
  deploy   waiting    none          overridden → closed checks
  deploy   waiting    none          second     → closed checks
  deploy   waiting    none          later      → closed checks
  deploy   waiting    asked         none       → closed checks
  deploy   waiting    asked         held       → closed checks
  deploy   waiting    asked         overridden → closed checks
  deploy   waiting    asked         second     → closed checks
  deploy   waiting    asked         later      → closed checks
  deploy   waiting    approved      none       → closed checks
  deploy   waiting    approved      held       → closed checks
  deploy   waiting    approved      overridden → closed checks
  deploy   waiting    approved      second     → closed checks
  deploy   waiting    approved      later      → closed checks
  deploy   waiting    rejected      none       → ended approval rejected
  deploy   waiting    rejected      held       → ended approval rejected
  deploy   waiting    rejected      overridden → ended approval rejected
  deploy   waiting    rejected      second     → ended approval rejected
  deploy   waiting    rejected      later      → ended approval rejected
  deploy   waiting    expired       none       → ended approval expired
  deploy   waiting    expired       held       → ended approval expired
  deploy   waiting    expired       overridden → ended approval expired
  deploy   waiting    expired       second     → ended approval expired
  deploy   waiting    expired       later      → ended approval expired
  deploy   waiting    approved-late none       → closed checks
  deploy   waiting    approved-late held       → closed checks
  deploy   waiting    approved-late overridden → closed checks
  deploy   waiting    approved-late second     → closed checks
  deploy   waiting    approved-late later      → closed checks
  deploy   green      none          none       → open
  deploy   green      none          held       → closed freeze
  deploy   green      none          overridden → open
  deploy   green      none          second     → closed freeze
  deploy   green      none          later      → closed freeze
  deploy   green      asked         none       → closed approval
  deploy   green      asked         held       → closed approval
  deploy   green      asked         overridden → closed approval
  deploy   green      asked         second     → closed approval
  deploy   green      asked         later      → closed approval
  deploy   green      approved      none       → open
  deploy   green      approved      held       → closed freeze
  deploy   green      approved      overridden → open
  deploy   green      approved      second     → closed freeze
  deploy   green      approved      later      → closed freeze
  deploy   green      rejected      none       → ended approval rejected
  deploy   green      rejected      held       → ended approval rejected
  deploy   green      rejected      overridden → ended approval rejected
  deploy   green      rejected      second     → ended approval rejected
  deploy   green      rejected      later      → ended approval rejected
  deploy   green      expired       none       → ended approval expired
  deploy   green      expired       held       → ended approval expired
  deploy   green      expired       overridden → ended approval expired
  deploy   green      expired       second     → ended approval expired
  deploy   green      expired       later      → ended approval expired
  deploy   green      approved-late none       → open
  deploy   green      approved-late held       → closed freeze
  deploy   green      approved-late overridden → open
  deploy   green      approved-late second     → closed freeze
  deploy   green      approved-late later      → closed freeze
  deploy   red        none          none       → ended checks red
  deploy   red        none          held       → ended checks red
  deploy   red        none          overridden → ended checks red
  deploy   red        none          second     → ended checks red
  deploy   red        none          later      → ended checks red
  deploy   red        asked         none       → ended checks red
  deploy   red        asked         held       → ended checks red
  deploy   red        asked         overridden → ended checks red
  deploy   red        asked         second     → ended checks red
  deploy   red        asked         later      → ended checks red
  deploy   red        approved      none       → ended checks red
  deploy   red        approved      held       → ended checks red
  deploy   red        approved      overridden → ended checks red
  deploy   red        approved      second     → ended checks red
  deploy   red        approved      later      → ended checks red
  deploy   red        rejected      none       → ended approval rejected
  deploy   red        rejected      held       → ended approval rejected
  deploy   red        rejected      overridden → ended approval rejected
  deploy   red        rejected      second     → ended approval rejected
  deploy   red        rejected      later      → ended approval rejected
  deploy   red        expired       none       → ended checks red
  deploy   red        expired       held       → ended checks red
  deploy   red        expired       overridden → ended checks red
  deploy   red        expired       second     → ended checks red
  deploy   red        expired       later      → ended checks red
  deploy   red        approved-late none       → ended checks red
  deploy   red        approved-late held       → ended checks red
  deploy   red        approved-late overridden → ended checks red
  deploy   red        approved-late second     → ended checks red
  deploy   red        approved-late later      → ended checks red
  deploy   overridden none          none       → open
  deploy   overridden none          held       → closed freeze
  deploy   overridden none          overridden → open
  deploy   overridden none          second     → closed freeze
  deploy   overridden none          later      → closed freeze
  deploy   overridden asked         none       → closed approval
  deploy   overridden asked         held       → closed approval
  deploy   overridden asked         overridden → closed approval
  deploy   overridden asked         second     → closed approval
  deploy   overridden asked         later      → closed approval
  deploy   overridden approved      none       → open
  deploy   overridden approved      held       → closed freeze
  deploy   overridden approved      overridden → open
  deploy   overridden approved      second     → closed freeze
  deploy   overridden approved      later      → closed freeze
  deploy   overridden rejected      none       → ended approval rejected
  deploy   overridden rejected      held       → ended approval rejected
  deploy   overridden rejected      overridden → ended approval rejected
  deploy   overridden rejected      second     → ended approval rejected
  deploy   overridden rejected      later      → ended approval rejected
  deploy   overridden expired       none       → ended approval expired
  deploy   overridden expired       held       → ended approval expired
  deploy   overridden expired       overridden → ended approval expired
  deploy   overridden expired       second     → ended approval expired
  deploy   overridden expired       later      → ended approval expired
  deploy   overridden approved-late none       → open
  deploy   overridden approved-late held       → closed freeze
  deploy   overridden approved-late overridden → open
  deploy   overridden approved-late second     → closed freeze
  deploy   overridden approved-late later      → closed freeze
  rollback none       none          none       → open
  rollback none       none          held       → open
  rollback none       none          overridden → open
  rollback none       none          second     → open
  rollback none       none          later      → open
  rollback none       asked         none       → closed approval
  rollback none       asked         held       → closed approval
  rollback none       asked         overridden → closed approval
  rollback none       asked         second     → closed approval
  rollback none       asked         later      → closed approval
  rollback none       approved      none       → open
  rollback none       approved      held       → open
  rollback none       approved      overridden → open
  rollback none       approved      second     → open
  rollback none       approved      later      → open
  rollback none       rejected      none       → ended approval rejected
  rollback none       rejected      held       → ended approval rejected
  rollback none       rejected      overridden → ended approval rejected
  rollback none       rejected      second     → ended approval rejected
  rollback none       rejected      later      → ended approval rejected
  rollback none       expired       none       → ended approval expired
  rollback none       expired       held       → ended approval expired
  rollback none       expired       overridden → ended approval expired
  rollback none       expired       second     → ended approval expired
  rollback none       expired       later      → ended approval expired
  rollback none       approved-late none       → open
  rollback none       approved-late held       → open
  rollback none       approved-late overridden → open
  rollback none       approved-late second     → open
  rollback none       approved-late later      → open
  rollback waiting    none          none       → open
  rollback waiting    none          held       → open
  rollback waiting    none          overridden → open
  rollback waiting    none          second     → open
  rollback waiting    none          later      → open
  rollback waiting    asked         none       → closed approval
  rollback waiting    asked         held       → closed approval
  rollback waiting    asked         overridden → closed approval
  rollback waiting    asked         second     → closed approval
  rollback waiting    asked         later      → closed approval
  rollback waiting    approved      none       → open
  rollback waiting    approved      held       → open
  rollback waiting    approved      overridden → open
  rollback waiting    approved      second     → open
  rollback waiting    approved      later      → open
  rollback waiting    rejected      none       → ended approval rejected
  rollback waiting    rejected      held       → ended approval rejected
  rollback waiting    rejected      overridden → ended approval rejected
  rollback waiting    rejected      second     → ended approval rejected
  rollback waiting    rejected      later      → ended approval rejected
  rollback waiting    expired       none       → ended approval expired
  rollback waiting    expired       held       → ended approval expired
  rollback waiting    expired       overridden → ended approval expired
  rollback waiting    expired       second     → ended approval expired
  rollback waiting    expired       later      → ended approval expired
  rollback waiting    approved-late none       → open
  rollback waiting    approved-late held       → open
  rollback waiting    approved-late overridden → open
  rollback waiting    approved-late second     → open
  rollback waiting    approved-late later      → open
  rollback red        none          none       → open
  rollback red        none          held       → open
  rollback red        none          overridden → open
  rollback red        none          second     → open
  rollback red        none          later      → open
  rollback red        asked         none       → closed approval
  rollback red        asked         held       → closed approval
  rollback red        asked         overridden → closed approval
  rollback red        asked         second     → closed approval
  rollback red        asked         later      → closed approval
  rollback red        approved      none       → open
  rollback red        approved      held       → open
  rollback red        approved      overridden → open
  rollback red        approved      second     → open
  rollback red        approved      later      → open
  rollback red        rejected      none       → ended approval rejected
  rollback red        rejected      held       → ended approval rejected
  rollback red        rejected      overridden → ended approval rejected
  rollback red        rejected      second     → ended approval rejected
  rollback red        rejected      later      → ended approval rejected
  rollback red        expired       none       → ended approval expired
  rollback red        expired       held       → ended approval expired
  rollback red        expired       overridden → ended approval expired
  rollback red        expired       second     → ended approval expired
  rollback red        expired       later      → ended approval expired
  rollback red        approved-late none       → open
  rollback red        approved-late held       → open
  rollback red        approved-late overridden → open
  rollback red        approved-late second     → open
  rollback red        approved-late later      → open
`
