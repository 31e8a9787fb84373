import { Button, Paper, Skeleton, TextInput, VisuallyHidden } from '@mantine/core'
import { AppWindow, Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { Page } from '#client/index.ts'
import type { QueryState } from '#web/base/api/queries.ts'
import type { ApplicationCard } from '#web/base/api/types.ts'
import { ICON } from '#web/base/ui/icon.ts'
import { EmptyState, Loaded } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import type { UpdateSearch } from '#web/shared/scope/scope.ts'
import { Card } from './application-card.tsx'
import classes from './cards.module.css'
import { groupByEnvironment } from './cards.ts'

const FILTER_DELAY_MS = 250

type ApplicationCardsProps = {
  query: QueryState<Page<ApplicationCard>>
  q: string
  page: number
  update: UpdateSearch
}

/** A card for each application, by environment. The filter and the page are in the URL. */
export function ApplicationCards({ query, q, page, update }: ApplicationCardsProps) {
  const isFiltered = q !== '' || page > 1
  const needsFilter = isFiltered || (query.data?.items.length ?? 0) > 1
  // It stays while the last result of a filter that was cleared is still shown.
  const [hasFilter, setFilter] = useState(needsFilter)
  if (needsFilter && !hasFilter) setFilter(true)
  if (!query.data && !query.error && !hasFilter) return <Placeholder />
  return (
    <>
      {hasFilter && <Filter q={q} update={update} />}
      <Loaded query={query} what="applications">
        {({ items, total, hasNext }) => (
          <>
            {items.length === 0 ? (
              <NoCards isFiltered={isFiltered} update={update} />
            ) : (
              groupByEnvironment(items).map(({ environment, title, cards }) => (
                <Section
                  key={environment.id}
                  id={`environment-${environment.id}`}
                  title={<bdi>{title}</bdi>}
                  action={
                    <Link href={`/environments/${environment.id}`} className={classes.more}>
                      Insights<VisuallyHidden> of {title}</VisuallyHidden>
                    </Link>
                  }
                  size="h5"
                >
                  <div className={classes.cards}>
                    {cards.map((card) => (
                      <Card key={card.id} card={card} />
                    ))}
                  </div>
                </Section>
              ))
            )}
            {(page > 1 || hasNext) && (
              <Pager
                label="Pages of applications"
                words={['Previous', 'Next']}
                page={page}
                total={total}
                hasNext={hasNext}
                go={(next) => {
                  update({ page: next === 1 ? undefined : next })
                  scrollTo(0, 0)
                }}
              />
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

function Filter({ q, update }: Pick<ApplicationCardsProps, 'q' | 'update'>) {
  const [text, setText] = useState(q)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  function search(value: string): void {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => update({ q: value.trim(), page: undefined }, true), FILTER_DELAY_MS)
  }
  // The button below an empty list clears it, too.
  useEffect(() => {
    if (q === '') setText('')
  }, [q])
  return (
    <search className={classes.filter}>
      <TextInput
        aria-label="Filter applications"
        placeholder="Filter by application, environment or project"
        leftSection={<Search {...ICON} />}
        maxLength={200}
        value={text}
        onChange={({ currentTarget: { value } }) => {
          setText(value)
          search(value)
        }}
      />
    </search>
  )
}

function NoCards({ isFiltered, update }: { isFiltered: boolean; update: UpdateSearch }) {
  return (
    <div className="section">
      <EmptyState
        icon={AppWindow}
        title={isFiltered ? 'No applications match' : 'No applications yet'}
        isCompact
        action={
          isFiltered && (
            <Button variant="default" onClick={() => update({ q: undefined, page: undefined }, true)}>
              Show all
            </Button>
          )
        }
      >
        {isFiltered ? '' : 'An application is a repository and the servers that it is deployed to.'}
      </EmptyState>
    </div>
  )
}

/** About as high as what follows, so that nothing jumps. */
function Placeholder() {
  return (
    <div className={classes.cards} role="status">
      <VisuallyHidden>Loading applications…</VisuallyHidden>
      {[1, 2, 3, 4].map((key) => (
        <Paper key={key} withBorder className={`${classes.card} ${classes.placeholder}`} aria-hidden="true">
          <Skeleton height="1rem" width="50%" />
          <Skeleton height="0.875rem" width="90%" />
          <Skeleton height="0.875rem" width="60%" />
        </Paper>
      ))}
    </div>
  )
}
