import type { ActionFilters } from '#model/actions/filters.ts'
import type { EnvironmentScope } from '#model/inventory/environment-scopes.ts'
import type { ActionMove } from './read-moves.ts'

// Which moves a stream shows: the same actions that the list with these filters would show. Pure.

/** Among the environments that somebody may see, those that are asked for. */
export function wantedEnvironments(
  filters: ActionFilters,
  visible: readonly EnvironmentScope[],
): Set<number> {
  const wanted = visible.filter(
    (place) =>
      isAnyOf(filters.organization_id, place.organization_id) &&
      isAnyOf(filters.project_id, place.project_id) &&
      isAnyOf(filters.environment_id, place.environment_id),
  )
  return new Set(wanted.map((place) => place.environment_id))
}

/**
 * Whether a move is asked for, wherever its action stands. A status counts when the move goes to it and also when
 * it leaves it: whoever keeps a list of what is in progress has to hear of both.
 */
export function isAskedFor(filters: ActionFilters, move: ActionMove): boolean {
  return (
    isAnyOf(filters.pipeline_id, move.pipeline_id) &&
    isAnyOf(filters.resource_type, move.resource_type) &&
    isAnyOf(filters.resource_id, move.resource_id) &&
    isAnyOf(filters.type, move.type) &&
    isAnyOf(filters.trigger_type, move.trigger_type) &&
    isAnyOf(filters.hook_id, move.hook_id) &&
    (isAnyOf(filters.status, move.status) || isAnyOf(filters.status, move.previous_status)) &&
    // Times of one form, so that they compare as texts.
    (filters.created_after === undefined || move.created_at >= filters.created_after) &&
    (filters.created_before === undefined || move.created_at < filters.created_before)
  )
}

function isAnyOf<Value>(wanted: readonly Value[] | undefined, value: Value | null): boolean {
  return wanted === undefined || (value !== null && wanted.includes(value))
}
