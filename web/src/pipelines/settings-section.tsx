import { DataList } from '@mantine/core'
import { useState } from 'react'
import type { Pipeline } from '../api/types.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { Fact, SectionCard } from '../ui/parts.tsx'
import { useDeployedApplication } from './built-in-commands.ts'
import { healthText } from './health-check-input.ts'
import { PipelineLink } from './pipeline-link.tsx'
import { SettingsDialog } from './settings-dialog.tsx'
import { ON_FAILURE, QUEUE_POLICIES, rolloutText } from './settings-input.ts'

type SettingsSectionProps = { pipeline: Pipeline; scope: PermissionScope | undefined }

function HealthFact({ pipeline }: Pick<SettingsSectionProps, 'pipeline'>) {
  const inherited = useDeployedApplication(pipeline)?.health_check
  const { health_check: own } = pipeline
  return (
    <Fact label="Health check">
      {own ? healthText(own) : inherited ? `${healthText(inherited)} (from the application)` : null}
    </Fact>
  )
}

export function SettingsSection({ pipeline, scope }: SettingsSectionProps) {
  const [isEditing, setEditing] = useState(false)
  const { max_parallel_actions: limit, run_after } = pipeline
  return (
    <SectionCard id="settings" title="Settings">
      <DataList labelWidth="9rem" size="sm">
        <Fact label="Operation">{pipeline.operation_human_readable}</Fact>
        <Fact label="Max concurrent runs">{limit === 0 ? 'Unlimited' : limit}</Fact>
        <Fact label="When busy">{QUEUE_POLICIES[pipeline.queue_policy]}</Fact>
        {pipeline.operation === 'deploy' && (
          <Fact label="After a failure">{ON_FAILURE[pipeline.on_failure]}</Fact>
        )}
        <Fact label="Rollout">{rolloutText(pipeline.rollout)}</Fact>
        {pipeline.operation === 'deploy' && <HealthFact pipeline={pipeline} />}
        <Fact label="Runs after">
          {run_after.length === 0
            ? 'No other pipeline'
            : run_after.map((id, index) => (
                <span key={id}>
                  {index > 0 && ', '}
                  <PipelineLink id={id} />
                </span>
              ))}
        </Fact>
      </DataList>
      <GuardedButton
        permission="pipeline:edit"
        scope={scope}
        mt="md"
        size="xs"
        variant="default"
        onClick={() => setEditing(true)}
      >
        Edit settings
      </GuardedButton>
      {isEditing && <SettingsDialog pipelineId={pipeline.id} close={() => setEditing(false)} />}
    </SectionCard>
  )
}
