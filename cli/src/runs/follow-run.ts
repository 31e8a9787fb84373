// Watching a run until it has ended: live on a terminal, line by line elsewhere.
import type { ActionEvent, Gantry } from '@gantry/client'
import type { Action } from '../actions.ts'
import type { Cli } from '../cli.ts'
import { changeLine } from './change-line.ts'
import { followChecks } from './checks-gate.ts'
import { createLiveScreen } from './live-screen.ts'
import { type Frame, renderEnded, renderRun } from './live-view.ts'
import { addMissing, applyEvent, createRunState, type RunState, subjectOf } from './run-state.ts'

type View = {
  /** After the event has been applied. */
  change(event: ActionEvent): void
  /** What holds the run at a gate; null when it holds it no longer. */
  held(by: string | null): void
  lost(): void
  connected(): void
  end(): void
}

const FRAME_MS = 100
const LOST = 'Connection lost, reconnecting…'

/** The run when it has ended. `write` is where lines go when they are not drawn in place. */
export async function followRun(
  { screen, signal, env }: Cli,
  gantry: Gantry,
  started: Action,
  { write, isLive }: { write(line: string): void; isLive: boolean },
): Promise<Action> {
  const run = createRunState(started, await readPipelineName(gantry, started))
  const canDraw = isLive && screen.isTerminal && !env.CI && env.TERM !== 'dumb'
  const view = canDraw ? openLiveView(run, screen.style) : createLineView(run, write, screen.note)
  const read = () => gantry.get('/actions/{action_id}', { params: { path: { action_id: run.id } }, signal })
  const checks = followChecks(gantry, run.id, view.held)
  try {
    const options = { signal, onConnect: view.connected, onReconnect: view.lost }
    for await (const event of gantry.followAction(run.id, options)) {
      if (!subjectOf(run, event)) addMissing(run, await read())
      applyEvent(run, event)
      view.change(event)
      if (event.type === 'action') checks.change(event.data.status_reason_code)
    }
    return await gantry.wait(run.id, { signal })
  } finally {
    checks.end()
    view.end()
  }
}

/** Says more than the type of the run, if it may be read: "Reindex" rather than "Custom". */
function readPipelineName(gantry: Gantry, { pipeline_id, type_human_readable }: Action): Promise<string> {
  const pipeline = gantry.get('/pipelines/{id}', { params: { path: { id: pipeline_id } } })
  return pipeline.then(
    ({ name }) => name,
    () => type_human_readable,
  )
}

function createLineView(run: RunState, write: (line: string) => void, note: (line: string) => void): View {
  return {
    change(event) {
      const line = changeLine(run, event)
      if (line !== null) write(line)
    },
    held(by) {
      if (by !== null) write(`#${run.id}: ${by}`)
    },
    lost: () => note(LOST),
    connected() {},
    end() {},
  }
}

function openLiveView(run: RunState, style: Frame['style']): View {
  const { stdout } = process
  const live = createLiveScreen(stdout)
  let notice: string | undefined
  const frame = (): Frame => ({
    columns: Math.max(20, stdout.columns || 80),
    // One is left for the cursor.
    rows: Math.max(4, (stdout.rows || 24) - 1),
    now: Date.now(),
    style,
    notice,
  })
  const draw = () => live.draw(renderRun(run, frame()))
  const timer = setInterval(() => {
    // Asks the terminal for its size: a frame for the width before would leave rests on the screen.
    process.emit('SIGWINCH')
    draw()
  }, FRAME_MS)
  stdout.on('resize', draw)
  draw()
  return {
    change() {},
    held(by) {
      run.heldBy = by
    },
    lost() {
      notice = LOST
    },
    connected() {
      notice = undefined
    },
    end() {
      clearInterval(timer)
      stdout.off('resize', draw)
      live.end(renderEnded(run, frame()))
    },
  }
}
