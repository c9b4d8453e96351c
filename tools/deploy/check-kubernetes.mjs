import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOCAL, ROOT, runTool, say, SetupError, step } from '../setup/command.mjs';
import {
  checkChartSettings,
  checkNames,
  checkRestarts,
  objectsOf,
} from './check-chart-settings.mjs';
import { goTool } from './go-tools.mjs';

const CHART = join(ROOT, 'deploy/helm/machine-bridge');
const MANIFESTS = join(ROOT, 'deploy/kubernetes');
/** The oldest version that the chart supports, and a recent one. */
const KUBERNETES = ['1.29.0', '1.37.0'];
const PYTHON_PACKAGES = [
  'kubernetes-validate==1.37.0',
  'cloudcoil==0.6.0',
  'cloudcoil.models.prometheus_operator==0.80.1.0',
  'cloudcoil.models.keda==2.16.1.0',
];
const SMALL = [
  'settings.KAFKA_BROKERS=kafka:9092',
  'settings.MACHINE_CLOUD_BASE_URL=https://cloud',
];
/** Values that the API server or an operator would refuse. */
const REFUSED = [
  'resources.limits.memory=512MB',
  'terminal.resources.limits.memory=512 Mi',
  'resources.limit.memory=512Mi',
  'secret.name=Machine_Bridge',
  'imagePullSecrets[0].name=a/b',
  'podLabels.team=the plant',
  'podLabels.app\\.kubernetes\\.io/name=other',
  'podAnnotations.a team=plant',
  'nodeSelector.kubernetes\\.io/arch=-amd64',
  'files.a/b=text',
  'podDisruptionBudget.maxUnavailable=half',
  'networkPolicy.kafkaPorts={70000}',
  'autoscaling.keda.authentication=Kafka',
  'autoscaling.hpa.metric=a/b',
  'monitoring.interval=30',
  'image.tag=:latest',
  'settings.KAFKA_BROKERS=kafka:909200',
];
/** Files that the chart copies, because Helm reads no files outside of it. */
const COPIES = [
  ['deploy/prometheus/rules.yaml', 'rules.yaml'],
  ['deploy/grafana/machine-bridge.json', 'machine-bridge.json'],
  ['deploy/grafana/machine-terminal.json', 'machine-terminal.json'],
  ['deploy/grafana/machine-ingest.json', 'machine-ingest.json'],
];
/**
 * Files of kustomize that are rendered from the chart: the file, the values, and the template if it is not all of them.
 */
const RENDERED = [
  { file: 'base/bridge.yaml', values: [] },
  { file: 'monitoring/monitoring.yaml', values: ['monitoring.enabled=true'], only: 'monitoring' },
  { file: 'keda/keda.yaml', values: ['autoscaling.type=keda'], only: 'autoscaling' },
];

/** Renders the chart and the manifests, and checks them against the schemas of Kubernetes and of the operators. */
export async function checkKubernetes(check) {
  const helm = await goTool('helm');
  const kustomize = await goTool('kustomize');
  const validate = await validator();
  const full = ['-f', join(CHART, 'ci/values.yaml')];
  await check('chart (helm lint)', () => runTool(helm, ['lint', CHART, '--strict', ...full]));
  const variants = {
    'the smallest values': sets(SMALL),
    'every part': full,
    'an HPA': [...full, ...sets(['autoscaling.type=hpa'])],
  };
  for (const [name, values] of Object.entries(variants)) {
    await check(`chart with ${name} (helm template, kubeconform)`, async () =>
      validate(await template(helm, values)),
    );
  }
  await check('chart without KAFKA_BROKERS is refused', async () => {
    const rendered = await template(helm, sets(SMALL.slice(1))).catch((error) => error.message);
    if (!rendered.includes('KAFKA_BROKERS'))
      throw new Error('the schema of the values lets it pass');
  });
  await check('chart: values that Kubernetes would refuse are refused', async () => {
    for (const value of REFUSED) {
      const args = [...full, '--set', value];
      const refused = await template(helm, args).catch(({ message }) => message);
      if (!refused.includes("don't meet the specifications")) {
        throw new Error(`the schema of the values lets ${value} pass`);
      }
    }
  });
  await check('pods of the chart: user, root file system, capabilities, stop', async () =>
    checkPods(await template(helm, full)),
  );
  for (const [name, values] of Object.entries(variants)) {
    await check(`chart with ${name}: the programs take its settings`, async () =>
      checkChartSettings(await template(helm, values)),
    );
  }
  const otherFiles = [...full, '--set-string', 'files.equipment-map\\.json=[]'];
  await check('chart: pods restart where a file has changed', async () =>
    checkRestarts(await template(helm, full), await template(helm, otherFiles)),
  );
  await check('chart: all programs have the proxy', async () => {
    const having = objectsOf(await template(helm, full)).filter(({ data }) => data?.HTTPS_PROXY);
    if (having.length !== 3) throw new Error(`${having.length} of 3 have HTTPS_PROXY`);
  });
  await check('chart: no name twice, whatever the release is called', async () => {
    for (const release of ['machine-bridge', 'machine-ingest', 'a'.repeat(53)]) {
      checkNames(await template(helm, full, release));
    }
  });
  for (const part of RENDERED) {
    await check(`deploy/kubernetes/${part.file} is rendered from the chart`, async () => {
      const is = await readFile(join(MANIFESTS, part.file), 'utf8').catch(() => '');
      const differs = is !== (await render(helm, part));
      if (differs) throw new Error('It is not: npm run test:deploy -- render');
    });
  }
  await check('example overlay (kustomize build, kubeconform)', async () =>
    validate(await buildOverlay(kustomize)),
  );
}

/** `npm run test:deploy -- render`: writes the files that are rendered from the chart, and the chart's copies. */
export async function renderManifests() {
  for (const [from, to] of COPIES) await cp(join(ROOT, from), join(CHART, 'files', to));
  const helm = await goTool('helm');
  for (const part of RENDERED) {
    await writeFile(join(MANIFESTS, part.file), await render(helm, part));
    say(`  ✔ deploy/kubernetes/${part.file}`);
  }
}

function sets(values) {
  return values.flatMap((value) => ['--set', value]);
}

function template(helm, args, release = 'machine-bridge') {
  return runTool(helm, ['template', release, CHART, '--kube-version', '1.34.0', ...args]);
}

/** Renders without the labels of Helm, and without the checksum of settings, which an overlay replaces. */
async function render(helm, { values, only }) {
  const show = only ? ['--show-only', `templates/${only}.yaml`] : [];
  const rendered = await template(helm, [...sets([...SMALL, ...values]), ...show]);
  const kept = rendered
    .split('\n')
    .filter(
      (line) => !/^# Source:|managed-by: Helm|helm\.sh\/chart:|checksum\/settings:/.test(line),
    )
    .join('\n')
    .replace(/\n +annotations:(?=\n +spec:)/g, '');
  return `# Rendered from deploy/helm/machine-bridge: npm run test:deploy -- render\n${kept}`;
}

function checkPods(manifests) {
  const deployments = objectsOf(manifests).filter(({ kind }) => kind === 'Deployment');
  if (deployments.length !== 3) throw new Error(`${deployments.length} Deployments, not 3`);
  for (const { metadata, spec } of deployments) {
    const pod = spec.template.spec;
    const [container] = pod.containers;
    const { securityContext: own } = container;
    const holds = [
      pod.securityContext.runAsNonRoot,
      pod.securityContext.seccompProfile.type === 'RuntimeDefault',
      own.readOnlyRootFilesystem,
      own.allowPrivilegeEscalation === false,
      own.capabilities.drop.join() === 'ALL',
      // the deadline of a stop
      pod.terminationGracePeriodSeconds > 14,
      ['startupProbe', 'livenessProbe', 'readinessProbe'].every((probe) => container[probe]),
      container.resources.limits.memory,
    ];
    if (!holds.every(Boolean)) throw new Error(`${metadata.name}: ${JSON.stringify(holds)}`);
  }
}

/** Builds a copy of the overlay, with secrets that are not in the repository. */
async function buildOverlay(kustomize) {
  const folder = await mkdtemp(join(tmpdir(), 'machine-bridge-overlay-'));
  try {
    await cp(MANIFESTS, folder, { recursive: true });
    const overlay = join(folder, 'overlays/example');
    await mkdir(join(overlay, 'secrets'), { recursive: true });
    for (const name of ['api-token', 'machine-cloud-token']) {
      await writeFile(join(overlay, 'secrets', name), 'a-token');
    }
    return await runTool(kustomize, ['build', overlay]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns a check of manifests against the schemas of each Kubernetes version. */
async function validator() {
  const kubeconform = await goTool('kubeconform');
  const schemas = await fetchSchemas();
  const location = join(
    schemas,
    '{{ .NormalizedKubernetesVersion }}/{{ .ResourceKind }}{{ .KindSuffix }}.json',
  );
  return async (manifests) => {
    const folder = await mkdtemp(join(tmpdir(), 'machine-bridge-manifests-'));
    const file = join(folder, 'manifests.yaml');
    try {
      await writeFile(file, manifests);
      for (const version of KUBERNETES) {
        const args = ['-strict', '-kubernetes-version', version, '-schema-location', location];
        await runTool(kubeconform, [...args, file]);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
}

async function fetchSchemas() {
  const folder = join(LOCAL, 'deploy', `schemas-${KUBERNETES.join('-')}`);
  if (existsSync(folder)) return folder;
  const python = join(LOCAL, 'deploy/python');
  await rm(`${folder}.new`, { recursive: true, force: true });
  await step('fetching schemas of Kubernetes and its operators from PyPI', async () => {
    await runTool('python3', ['-m', 'venv', python]).catch((error) => {
      throw new SetupError(
        `${error.message}\nPython 3.10 or newer is needed (Debian: apt-get install python3-venv).`,
      );
    });
    await runTool(join(python, 'bin/pip'), ['install', '-q', ...PYTHON_PACKAGES]);
    const script = join(ROOT, 'tools/deploy/schemas.py');
    await runTool(join(python, 'bin/python'), [script, `${folder}.new`, ...KUBERNETES]);
  });
  await rename(`${folder}.new`, folder);
  return folder;
}
