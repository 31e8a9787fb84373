import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { useApi } from '../api/queries.ts'
import { hooksQuery } from '../pipelines/pipelines.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { Loaded } from '../ui/page.tsx'
import { Dimmed, HookBadge, SectionCard } from '../ui/parts.tsx'
import classes from './hooks.module.css'

type PipelineHooksProps = { pipelineId: number; scope: PermissionScope | undefined }

/** The hooks of a pipeline, on its page. A new one is for this pipeline. */
export function PipelineHooks({ pipelineId, scope }: PipelineHooksProps) {
  const [, navigate] = useLocation()
  const query = useQuery(hooksQuery(useApi(), pipelineId))
  return (
    <SectionCard id="hooks" title="Hooks">
      <Loaded query={query} what="hooks">
        {(hooks) =>
          hooks.length === 0 ? (
            <Dimmed>No hooks yet</Dimmed>
          ) : (
            <ul className="plain-list">
              {hooks.map((hook) => (
                <li key={hook.id} className={classes.item}>
                  <Link href={`/hooks/${hook.type}/${hook.id}`}>{hook.name}</Link>
                  <HookBadge hook={hook} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <GuardedButton
        permission="hook:add"
        scope={scope}
        size="xs"
        mt="sm"
        variant="default"
        icon={Plus}
        onClick={() => navigate(`/hooks/new?pipeline=${pipelineId}`)}
      >
        Add hook
      </GuardedButton>
    </SectionCard>
  )
}
