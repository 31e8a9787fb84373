// What the cards of applications say, and how events change them. Pure.
import { hasEnded } from '#client/index.ts'
import type { ActionMove, ApplicationCard, CardRun } from '#web/base/api/types.ts'

export type CardGroup = {
  environment: ApplicationCard['environment']
  title: string
  cards: ApplicationCard[]
}

/** In the order of the list, which is by environment. The organization is named where there are several. */
export function groupByEnvironment(cards: readonly ApplicationCard[]): CardGroup[] {
  const hasSeveral = new Set(cards.map(({ organization }) => organization.id)).size > 1
  return [...Map.groupBy(cards, ({ environment }) => environment.id).values()].map((group) => {
    const { environment, project, organization } = group[0]!
    const path = [hasSeveral && organization.name, project.name, environment.name]
    return { environment, title: path.filter(Boolean).join(' / '), cards: group }
  })
}

/**
 * Runs that are shown get their new status. What else changes, such as what is live, and runs that are new, takes another
 * request. Cards without a change stay the same objects.
 */
export function applyMoves(
  cards: readonly ApplicationCard[],
  moves: readonly ActionMove[],
): ApplicationCard[] {
  const newest = new Map(moves.map((move) => [move.action_id, move]))
  return cards.map((card) => {
    if (!card.runs.some(({ id }) => newest.has(id))) return card
    const runs = card.runs.map((run) => moved(run, newest.get(run.id)))
    const known = new Set(runs.map(({ id }) => id))
    const earlier = card.running.filter(({ id }) => !known.has(id))
    return { ...card, runs, running: [...runs.filter(isRunning), ...earlier] }
  })
}

const isRunning = ({ status }: CardRun) => status === 'in-progress'

function moved(run: CardRun, move: ActionMove | undefined): CardRun {
  // An event that was on its way when the card was read, or one that comes twice.
  if (!move || hasEnded(run.status)) return run
  const { status, status_human_readable, status_reason_code, status_reason_human_readable, occurred_at } =
    move
  return {
    ...run,
    status,
    status_human_readable,
    status_reason_code,
    status_reason_human_readable,
    started_at: run.started_at ?? (status === 'in-progress' ? occurred_at : null),
    completed_at: hasEnded(status) ? occurred_at : null,
  }
}
