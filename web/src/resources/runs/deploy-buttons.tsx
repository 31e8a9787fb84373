// Deploys an application or rolls it back, wherever it is shown: two clicks, the second of them in a dialog that says what
// will happen.
import { Play, Undo2 } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { usePipeline } from '#web/resources/pipelines/pipelines.ts'

const RollbackDialog = lazy(async () => ({ default: (await import('./rollback-dialog.tsx')).RollbackDialog }))
const RunDialog = lazy(async () => ({ default: (await import('./run-dialog.tsx')).RunDialog }))

type DeployButtonsProps = {
  /** Its name. */
  application: string
  /** The pipeline that deploys it; null without one. */
  pipelineId: number | null
  /** Whether a server serves a release, or may serve one. */
  isLive: boolean
  scope: PermissionScope | undefined
  /** One of many on a page. */
  isSmall?: boolean
}

type Command = 'deploy' | 'rollback'

export function DeployButtons(props: DeployButtonsProps) {
  const { application, pipelineId, isLive, scope, isSmall = false } = props
  const [command, setCommand] = useState<Command>()
  const { allowed, reason } = usePermission('pipeline:run', scope)
  const problem = allowed ? undefined : reason
  const noPipeline = pipelineId === null ? `No pipeline deploys ${application} yet.` : undefined
  const nothingLive = isLive ? undefined : 'Nothing is live that could be rolled back.'
  return (
    <>
      <ReasonedButton
        {...(isSmall
          ? { variant: 'subtle', color: 'gray', size: 'compact-sm' }
          : { variant: 'default', icon: Undo2 })}
        reason={problem ?? noPipeline ?? nothingLive}
        onClick={() => setCommand('rollback')}
        aria-label={isSmall ? `Roll back ${application}` : undefined}
      >
        Roll back
      </ReasonedButton>
      <ReasonedButton
        {...(isSmall ? { variant: 'light', size: 'compact-sm' } : { icon: Play })}
        reason={problem ?? noPipeline}
        onClick={() => setCommand('deploy')}
        aria-label={isSmall ? `Deploy ${application}` : undefined}
      >
        Deploy
      </ReasonedButton>
      {command && pipelineId !== null && (
        <Suspense fallback={null}>
          <CommandDialog
            command={command}
            application={application}
            pipelineId={pipelineId}
            close={() => setCommand(undefined)}
          />
        </Suspense>
      )}
    </>
  )
}

type CommandDialogProps = { command: Command; application: string; pipelineId: number; close(): void }

function CommandDialog({ command, application, pipelineId, close }: CommandDialogProps) {
  const { data: pipeline, error } = usePipeline(pipelineId)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each error
  useEffect(() => {
    if (!error || pipeline) return
    notify.problem(error)
    close()
  }, [error])
  if (!pipeline) return null
  return command === 'deploy' ? (
    <RunDialog pipeline={pipeline} application={application} close={close} />
  ) : (
    <RollbackDialog pipeline={pipeline} close={close} />
  )
}
