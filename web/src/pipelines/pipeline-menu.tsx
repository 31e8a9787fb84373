import { useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../api/services.ts'
import type { Pipeline } from '../api/types.ts'
import { scopeSearch } from '../scope/scope.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { RemoveMenuItem } from '../ui/guarded-button.tsx'
import { MoreMenu } from '../ui/more-menu.tsx'
import { RemoveDialog } from '../ui/remove-dialog.tsx'
import { useRefreshPipelines } from './use-pipeline-changes.ts'

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
