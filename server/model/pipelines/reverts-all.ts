import { type RawBuilder, sql } from 'kysely'

/** SQL: whether a failure of this action reverts all its servers (`rollout.on_failure: revert_all`). By their aliases. */
export function revertsAll(action: string, pipeline: string): RawBuilder<boolean> {
  const [a, p] = [sql.table(action), sql.table(pipeline)]
  return sql`(${a}.type = 'deploy' and ${p}.on_failure = 'revert'
    and coalesce(${p}.rollout ->> 'on_failure', '') = 'revert_all')`
}
