import { type RawBuilder, sql } from 'kysely'
import type { ChecksTerms } from '#platform/database/tables.ts'

// Which runs wait for checks, as expressions about a row `a` of `actions`.

/** The settings that are about the run: those that its pipeline has had since it was created, but for what a person let it through. */
const APPLIES = sql`x.pipeline_id = a.pipeline_id and (x.until is null or x.until > a.created_at)
  and a.type = 'deploy' and a.deployment ->> 'type' is distinct from 'rollback'
  and not exists (
    select from gate_overrides o where o.action_id = a.id and o.gate = 'checks' and o.created_at >= x.since)`

export const CHECKS_TERMS: RawBuilder<ChecksTerms[]> = sql`coalesce((
  select json_agg(x.terms order by x.id) from checks_terms x where ${APPLIES}), '[]')`

/** When the first of them gives up, in minutes. */
export const CHECKS_TIMEOUT: RawBuilder<number | null> = sql`(
  select min((x.terms ->> 'timeout_minutes')::int) from checks_terms x where ${APPLIES})`

/** It has not started, and has not met all of them. */
export const NEEDS_CHECKS: RawBuilder<boolean> = sql`(a.started_at is null and exists (
  select from checks_terms x where ${APPLIES} and not exists (
    select from check_requests r where r.action_id = a.id and r.passed_at >= x.since)))`

/** Whether runs of a pipeline `p` that start now wait for checks. */
export const PIPELINE_NEEDS_CHECKS: RawBuilder<boolean> = sql`(
  p.wait_for_checks is not null and p.operation = 'deploy')`
