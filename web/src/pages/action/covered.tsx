import { Code } from '@mantine/core'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { plural } from '#web/base/ui/status.ts'
import type { Covered } from './gates.ts'

/** What people approve besides the commits: what runs, and where. */
export function WhatIsCovered({ servers, steps, application, variables, rollout }: Covered) {
  const commands: [string, string | null | undefined][] = [
    ['Install command', application?.install_dependencies_command],
    ['Build command', application?.build_command],
  ]
  return (
    <details>
      <summary>
        It covers {plural(steps.length, 'step')} on {plural(servers.length, 'server')}
      </summary>
      <ul className="plain-list">
        {servers.map(({ name, host, port, login, root_directory }) => (
          <li key={name} className="wrap">
            {name}: {host === null ? 'this machine' : `${login}@${host}:${port}`}, {root_directory}
          </li>
        ))}
      </ul>
      {application && <div className="wrap">From {application.repository}</div>}
      {commands.map(
        ([label, command]) =>
          command && (
            <div key={label}>
              <Dimmed>{label}</Dimmed>
              <Code block>{command}</Code>
            </div>
          ),
      )}
      <ol>
        {steps.map(({ name, command, run_as_user, health_check }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two steps may have one name
          <li key={index} className="wrap">
            {name}
            {run_as_user && ` as ${run_as_user}`}
            {command && <Code block>{command}</Code>}
            {health_check && <Code block>{JSON.stringify(health_check, null, 2)}</Code>}
          </li>
        ))}
      </ol>
      {variables.length > 0 && <div className="wrap">Variables: {variables.join(', ')}</div>}
      {application && application.shared_paths.length > 0 && (
        <div className="wrap">Shared paths: {application.shared_paths.join(', ')}</div>
      )}
      {rollout && (
        <div>
          In batches of {rollout.batch}, up to {plural(rollout.max_failed, 'failure')}
        </div>
      )}
    </details>
  )
}
