import { Play, Undo2 } from 'lucide-react'
import type { Pipeline } from '../api/types.ts'
import { useSearch } from '../scope/scope.ts'
import { type PermissionScope, usePermission } from '../session/permissions.ts'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { ICON } from '../ui/icon.ts'
import { RollbackDialog } from './rollback-dialog.tsx'
import { RunDialog } from './run-dialog.tsx'

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
          leftSection={<Undo2 {...ICON} />}
          onClick={() => update({ rollback: 1 }, true)}
        >
          Roll back
        </GuardedButton>
      )}
      <GuardedButton
        permission="pipeline:run"
        scope={scope}
        leftSection={<Play {...ICON} />}
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
