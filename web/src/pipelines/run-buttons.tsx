import { Play, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../api/queries.ts'
import type { Pipeline } from '../api/types.ts'
import { scopeSearch, useSearch } from '../scope/scope.ts'
import { type PermissionScope, usePermission } from '../session/permissions.ts'
import { GuardedButton, MoreMenu, RemoveMenuItem } from '../ui/guarded-button.tsx'
import { RemoveDialog } from '../ui/remove-dialog.tsx'
import { RollbackDialog } from './rollback-dialog.tsx'
import { RunDialog } from './run-dialog.tsx'
import { useRefreshPipelines } from './use-pipeline-changes.ts'

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
  const api = useApi()
  const [, navigate] = useLocation()
  const refresh = useRefreshPipelines()
  const { id, name, project_id: project, environment_id: environment } = pipeline
  return (
    <RemoveDialog
      what="pipeline"
      name={name}
      within={{ type: 'pipeline', id }}
      remove={() => api.delete('/pipelines/{id}', { params: { path: { id }, query: { cascade: true } } })}
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
