import { Table, VisuallyHidden } from '@mantine/core'
import type { Pipeline } from '#web/base/api/types.ts'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { type ChainNode, layOutChain } from './chain.ts'
import classes from './environment.module.css'

const WIDTH = 190
const HEIGHT = 34
const GAP_X = 50
const GAP_Y = 14
const MAX_NAME = 24

const leftOf = ({ column }: ChainNode) => column * (WIDTH + GAP_X)
const topOf = ({ row }: ChainNode) => row * (HEIGHT + GAP_Y)

/** Which pipelines run after which; the same as a table for people who do not see it. */
export function PipelineChain({ pipelines }: { pipelines: Pipeline[] }) {
  const { nodes, columns, rows } = layOutChain(pipelines)
  if (nodes.length === 0) return <Dimmed>No pipeline runs after another one</Dimmed>
  const width = columns * (WIDTH + GAP_X) - GAP_X
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <figure className={classes.chain} tabIndex={0} aria-label="Chain of pipelines">
      <svg
        width={width + 2}
        height={height + 2}
        viewBox={`-1 -1 ${width + 2} ${height + 2}`}
        aria-hidden="true"
      >
        {nodes.flatMap((node) =>
          node.after.map((before) => <Edge key={`${before.id} ${node.id}`} from={before} to={node} />),
        )}
        {nodes.map((node) => (
          <g key={node.id} transform={`translate(${leftOf(node)} ${topOf(node)})`}>
            <title>{node.name}</title>
            <rect width={WIDTH} height={HEIGHT} rx="6" />
            <text x="12" y={HEIGHT / 2} dominantBaseline="central">
              {node.name.length > MAX_NAME ? `${node.name.slice(0, MAX_NAME - 1)}…` : node.name}
            </text>
          </g>
        ))}
      </svg>
      <VisuallyHidden component="div">
        <Table
          data={{
            caption: 'Which pipelines run after which',
            head: ['Pipeline', 'Runs after'],
            body: nodes.map(({ name, after }) => [name, after.map((one) => one.name).join(', ') || 'none']),
          }}
        />
      </VisuallyHidden>
    </figure>
  )
}

function Edge({ from, to }: { from: ChainNode; to: ChainNode }) {
  const [x1, y1] = [leftOf(from) + WIDTH, topOf(from) + HEIGHT / 2]
  const [x2, y2] = [leftOf(to), topOf(to) + HEIGHT / 2]
  const middle = (x1 + x2) / 2
  return <path d={`M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2} ${y2}`} />
}
