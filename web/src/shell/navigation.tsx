import { Link, useLocation } from 'wouter'
import { useSession } from '../session/session.ts'
import { INSTANCE_PLACES, ORGANIZATION_PLACES, type Place, SCOPED_PLACES } from './places.ts'
import classes from './sidebar.module.css'

/** `scope` is the query that links carry. */
export function Navigation({ scope }: { scope: string }) {
  const { isInstanceAdmin } = useSession()
  return (
    <nav aria-label="Pages" className={classes.navigation}>
      <Places places={SCOPED_PLACES} scope={scope} />
      <Places title="Organization" places={ORGANIZATION_PLACES} scope={scope} />
      {isInstanceAdmin && <Places title="Instance" places={INSTANCE_PLACES} scope="" />}
    </nav>
  )
}

type PlacesProps = { title?: string; places: Place[]; scope: string }

function Places({ title, places, scope }: PlacesProps) {
  const [location] = useLocation()
  const here = `/${location.split('/')[1]}`
  return (
    <>
      {title && (
        <div className={classes.group} id={`pages-${title}`}>
          {title}
        </div>
      )}
      <ul className="plain-list" aria-labelledby={title && `pages-${title}`}>
        {places.map(({ path, label, icon: Icon }) => (
          <li key={path}>
            <Link
              href={path + scope}
              className={classes.place}
              aria-current={here === path ? 'page' : undefined}
            >
              <Icon size={16} strokeWidth={1.75} aria-hidden="true" />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
