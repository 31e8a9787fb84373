import { Play, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Pipeline } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { useRefreshPipelines } from '#web/resources/pipelines/pipelines.ts'
import { RollbackDialog } from '#web/resources/runs/rollback-dialog.tsx'
import { RunDialog } from '#web/resources/runs/run-dialog.tsx'
import { scopeSearch, useSearch } from '#web/shared/scope/scope.ts'

/** Run and, for deploys, roll back. `?run=1` and `?rollback=1` open the dialogs: other pages link to them. */
export function RunButtons({ pipeline, scope }: { pipeline: Pipeline; scope: PermissionScope | undefined }) {
  const [search, update] = useSearch()
  const { allowed } = usePermission('pipeline:run', scope)
  const canRollBack = pipeline.operation === 'deploy'
  const close = () => update({ run: '', rollback: '' }, true)
  return (
    <>
      {canRollBack && (
        <GuardedButton
          permission="pipeline:run"
          scope={scope}
          variant="default"
          icon={Undo2}
          onClick={() => update({ rollback: 1 }, true)}
        >
          Roll back
        </GuardedButton>
      )}
      <GuardedButton
        permission="pipeline:run"
        scope={scope}
        icon={Play}
        onClick={() => update({ run: 1 }, true)}
      >
        Run
      </GuardedButton>
      {allowed && search.has('run') && <RunDialog pipeline={pipeline} close={close} />}
      {allowed && canRollBack && search.has('rollback') && (
        <RollbackDialog pipeline={pipeline} close={close} />
      )}
    </>
  )
}

type PipelineMenuProps = { pipeline: Pipeline; scope: PermissionScope | undefined }

export function PipelineMenu({ pipeline, scope }: PipelineMenuProps) {
  const [isRemoving, setRemoving] = useState(false)
  return (
    <>
      <MoreMenu>
        <RemoveMenuItem permission="pipeline:remove" scope={scope} onClick={() => setRemoving(true)} />
      </MoreMenu>
      {isRemoving && <RemovePipelineDialog pipeline={pipeline} close={() => setRemoving(false)} />}
    </>
  )
}

function RemovePipelineDialog({ pipeline, close }: { pipeline: Pipeline; close(): void }) {
  const [, navigate] = useLocation()
  const refresh = useRefreshPipelines()
  const { id, name, project_id: project, environment_id: environment } = pipeline
  return (
    <RemoveDialog
      what="pipeline"
      name={name}
      id={id}
      onRemoved={() => {
        navigate(`/pipelines${scopeSearch({ project, environment })}`)
        refresh()
      }}
      close={close}
    >
      Its runs stay in the list of actions. Other pipelines no longer run after it. This cannot be undone.
    </RemoveDialog>
  )
}
