// Thirty days as bars, drawn by hand: two small pictures are not worth a library. What a picture shows a table says as
// well, for those who do not see it.
import type { ReactNode } from 'react'
import type { Overview } from '../api-types.ts'
import { formatDuration } from '../words/time.ts'
import classes from './overview.module.css'

const HEIGHT = 100
const GAP = 0.25

export function RunsPlot({ days }: { days: Overview['runs_per_day'] }) {
  const most = Math.max(1, ...days.map((day) => day.completed + day.failed + day.skipped))
  return (
    <figure className={classes.plot}>
      <Frame most={String(most)} days={days.map((day) => day.date)}>
        {days.map((day, index) => {
          const failed = (day.failed / most) * HEIGHT
          const completed = (day.completed / most) * HEIGHT
          const skipped = (day.skipped / most) * HEIGHT
          const place = { x: index + GAP / 2, width: 1 - GAP }
          return (
            <g key={day.date}>
              <title>
                {`${day.date}: ${day.completed} completed, ${day.failed} failed, ${day.skipped} skipped`}
              </title>
              <rect {...place} y={HEIGHT - completed} height={completed} className={classes.completed} />
              <rect {...place} y={HEIGHT - completed - failed} height={failed} className={classes.failed} />
              <rect
                {...place}
                y={HEIGHT - completed - failed - skipped}
                height={skipped}
                className={classes.skipped}
              />
            </g>
          )
        })}
      </Frame>
      <figcaption className={classes.legend}>
        <span data-kind="completed">completed</span>
        <span data-kind="failed">failed</span>
        <span data-kind="skipped">skipped</span>
      </figcaption>
      <DaysTable
        caption="Runs per day"
        columns={['Completed', 'Failed', 'Skipped']}
        rows={days.map((day) => [day.date, day.completed, day.failed, day.skipped])}
      />
    </figure>
  )
}

export function DurationPlot({ days }: { days: Overview['median_duration_seconds_per_day'] }) {
  const most = Math.max(0.001, ...days.map((day) => day.seconds ?? 0))
  const words = (seconds: number | null) => (seconds === null ? 'no run' : formatDuration(seconds * 1_000))
  return (
    <figure className={classes.plot}>
      <Frame most={words(most)} days={days.map((day) => day.date)}>
        {days.map((day, index) => {
          const height = ((day.seconds ?? 0) / most) * HEIGHT
          return (
            <rect
              key={day.date}
              x={index + GAP / 2}
              width={1 - GAP}
              y={HEIGHT - height}
              height={height}
              className={classes.duration}
            >
              <title>{`${day.date}: ${words(day.seconds)}`}</title>
            </rect>
          )
        })}
      </Frame>
      <figcaption className={classes.legend}>
        <span data-kind="duration">of completed runs</span>
      </figcaption>
      <DaysTable
        caption="Median duration per day"
        columns={['Median']}
        rows={days.map((day) => [day.date, words(day.seconds)])}
      />
    </figure>
  )
}

type FrameProps = { most: string; days: string[]; children: ReactNode }

function Frame({ most, days, children }: FrameProps) {
  return (
    <div aria-hidden="true">
      <div className={classes.most}>{most}</div>
      <svg
        className={classes.picture}
        viewBox={`0 0 ${Math.max(1, days.length)} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="presentation"
      >
        {children}
      </svg>
      <div className={classes.ends}>
        <span>{days[0]}</span>
        <span>{days.at(-1)}</span>
      </div>
    </div>
  )
}

type DaysTableProps = { caption: string; columns: string[]; rows: (string | number)[][] }

function DaysTable({ caption, columns, rows }: DaysTableProps) {
  return (
    <div className="hidden-words">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([day, ...values]) => (
            <tr key={day}>
              <th scope="row">{day}</th>
              {values.map((value, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
                <td key={index}>{value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
