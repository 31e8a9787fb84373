import { ActionIcon, Menu } from '@mantine/core'
import { Ellipsis, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../api/services.ts'
import type { Pipeline } from '../api/types.ts'
import { scopeSearch } from '../scope/scope.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { GuardedMenuItem } from '../ui/guarded-button.tsx'
import { RemoveDialog } from '../ui/remove-dialog.tsx'
import { useRefreshPipelines } from './use-pipeline-changes.ts'

const ICON = { size: 16, strokeWidth: 1.75, 'aria-hidden': true } as const

type PipelineMenuProps = { pipeline: Pipeline; scope: PermissionScope | undefined }

export function PipelineMenu({ pipeline, scope }: PipelineMenuProps) {
  const [isRemoving, setRemoving] = useState(false)
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size="lg" aria-label="More actions">
            <Ellipsis {...ICON} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <GuardedMenuItem
            permission="pipeline:remove"
            scope={scope}
            color="var(--mantine-color-error)"
            leftSection={<Trash2 {...ICON} />}
            onClick={() => setRemoving(true)}
          >
            Remove
          </GuardedMenuItem>
        </Menu.Dropdown>
      </Menu>
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
