import type { JSX } from 'preact';
import { factoryId, session, setFactory, strings } from '../state/store.js';

export function FactoryChoice(): JSX.Element | null {
  const factories = session.value?.factories ?? [];
  if (factories.length < 2 && factoryId.value === null) return null;
  return (
    <select
      class="select"
      aria-label={strings.value.factory}
      value={factoryId.value ?? ''}
      onChange={({ currentTarget }) => {
        setFactory(currentTarget.value || null);
      }}
    >
      <option value="">{strings.value.allFactories}</option>
      {factories.map((factory) => (
        <option key={factory.factoryId} value={factory.factoryId}>
          {factory.factoryName}
        </option>
      ))}
    </select>
  );
}
