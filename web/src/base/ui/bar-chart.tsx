// Days or hours as bars: small charts are not worth a library. A table says the same to people who do not see them.
import { VisuallyHidden } from '@mantine/core'
import classes from './bar-chart.module.css'
import { formatDay } from './format.ts'
import type { Status } from './status.ts'

const HEIGHT = 100
const GAP = 0.25

type BarChartProps = {
  caption: string
  max: number
  maxLabel: string
  /** Stacked, the first at the bottom; each in the color of a status. */
  series: { name: string; status: Status; values: (number | null)[] }[]
  dates: string[]
  /** What each bar is about, as the table calls it. */
  unit?: string
  /** The name of one bar. */
  label?(date: string): string
  format(value: number | null): string
}

/** A bar per day, or per hour. */
export function BarChart(props: BarChartProps) {
  const { caption, max, maxLabel, series, dates, unit = 'Day', label = formatDay, format } = props
  const isEmpty = series.every(({ values }) => values.every((value) => !value))
  return (
    <figure className={classes.chart}>
      <div aria-hidden="true">
        <div className={`dimmed ${classes.max}`}>{isEmpty ? 'None in this time' : maxLabel}</div>
        <svg
          className={classes.bars}
          viewBox={`0 0 ${Math.max(1, dates.length)} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="presentation"
        >
          {dates.map((date, index) => {
            let top = HEIGHT
            return (
              <g key={date} className={classes.day}>
                <title>
                  {`${label(date)}: ${series.map(({ name, values }) => `${format(values[index]!)} ${name}`).join(', ')}`}
                </title>
                <rect className={classes.hover} x={index} width={1} y={0} height={HEIGHT} />
                {series.map(({ name, status, values }) => {
                  const height = ((values[index] ?? 0) / max) * HEIGHT
                  top -= height
                  return (
                    <rect
                      key={name}
                      data-status={status}
                      x={index + GAP / 2}
                      width={1 - GAP}
                      y={top}
                      height={height}
                    />
                  )
                })}
              </g>
            )
          })}
        </svg>
        <div className={`dimmed ${classes.dates}`}>
          <span>{dates[0] && label(dates[0])}</span>
          <span>{dates[0] && label(dates.at(-1)!)}</span>
        </div>
      </div>
      <figcaption className={classes.legend}>
        {series.map(({ name, status }) => (
          <span key={name} data-status={status}>
            {name}
          </span>
        ))}
      </figcaption>
      <VisuallyHidden component="div">
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              {[unit, ...series.map(({ name }) => name)].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {dates.map((date, index) => (
              <tr key={date}>
                <th scope="row">{date}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{format(values[index]!)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </figure>
  )
}
