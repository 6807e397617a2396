import java.io.BufferedWriter;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/**
 * Releases a table by ARX's local recoding, once for each of many settings, through its public interface alone.
 *
 * A setting is a list of name=value: `records` (the share of rows that each round must release; 0 lets the utility
 * model decide), `gs` (weight of suppression against generalization), `step` (what is added to `gs` when a round
 * releases nothing), `mean` (how columns are added up), `search`, and limits in seconds of the processor.
 */
public final class ArxLocal {

    public static void main(String[] args) throws Exception {
        Locale.setDefault(Locale.ROOT);
        Map<String, List<String>> job = read(Path.of(args[0]));
        for (int i = 1; i < args.length; i++) {
            try {
                run(job, args[i]);
            } catch (Throwable failure) {
                System.out.println("failed\t" + args[i] + "\t" + failure);
                failure.printStackTrace();
            }
            System.out.flush();
        }
    }

    private static void run(Map<String, List<String>> job, String setting) throws Exception {
        Map<String, String> with = new HashMap<>();
        for (String pair : setting.split(",")) {
            with.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        double records = Double.parseDouble(with.getOrDefault("records", "0.01"));
        double gs = Double.parseDouble(with.getOrDefault("gs", "0.5"));
        double step = Double.parseDouble(with.getOrDefault("step", "0.05"));
        double limit = Double.parseDouble(with.getOrDefault("limit", "60"));
        int perRound = (int) (1000 * Double.parseDouble(with.getOrDefault("round", "0")));

        System.gc();
        double start = cpu();
        String sensitive = job.get("sensitive").get(0);
        Data data = Data.create(new File(job.get("data").get(0)), StandardCharsets.UTF_8, ',');
        for (String column : job.get("quasi")) {
            data.getDefinition().setAttributeType(column,
                Hierarchy.create(new File(job.get("hierarchies").get(0), column + ".csv"), StandardCharsets.UTF_8, ';'));
        }
        data.getDefinition().setAttributeType(sensitive, AttributeType.SENSITIVE_ATTRIBUTE);

        ARXConfiguration config = ARXConfiguration.create();
        config.addPrivacyModel(new KAnonymity(Integer.parseInt(job.get("k").get(0))));
        config.addPrivacyModel(new DistinctLDiversity(sensitive, Integer.parseInt(job.get("p").get(0))));
        config.setSuppressionLimit(1d);
        config.setQualityModel(Metric.createLossMetric(gs, AggregateFunction.valueOf(with.getOrDefault("mean", "ARITHMETIC_MEAN"))));
        if (with.containsKey("search")) {
            config.setAlgorithm(ARXConfiguration.AnonymizationAlgorithm.valueOf(with.get("search")));
        }
        if (perRound > 0) {
            config.setHeuristicSearchTimeLimit(perRound);
        }
        ARXResult result = new ARXAnonymizer().anonymize(data, config);
        DataHandle output = result.getOutput();
        int rounds = 1;
        if (output == null) {
            System.out.println("failed\t" + setting + "\tno output");
            return;
        }
        // What optimizeIterative and optimizeIterativeFast do, with a limit: past it, each round must release
        // twice the share of the one before, so that the rest is released quickly and not suppressed.
        double share = records;
        double weight = gs;
        while (result.isOptimizable(output)) {
            if (cpu() - start > limit) {
                share = Math.min(1, Math.max(share, 0.01) * 2);
            }
            var outcome = share == 0 ? result.optimize(output, weight) : result.optimizeFast(output, share, weight, progress -> { });
            rounds++;
            boolean moved = outcome.isSolutationAvailable() && outcome.getStep(0).getNumberOfRecordsTransformed() > 0;
            if (!moved) {
                if (share > 0 && share < 1) {
                    share = Math.min(1, share * 2);
                } else if (share == 0 && step > 0 && weight < 1) {
                    weight = Math.min(1, weight + step);
                } else {
                    break;
                }
            }
        }
        double used = cpu() - start;

        Path target = Path.of(job.get("out").get(0), setting.replace(',', '_') + ".csv");
        List<Integer> columns = new ArrayList<>();
        for (String column : job.get("quasi")) {
            columns.add(output.getColumnIndexOf(column));
        }
        columns.add(output.getColumnIndexOf(sensitive));
        try (BufferedWriter writer = Files.newBufferedWriter(target)) {
            writer.write(String.join(";", job.get("quasi")) + ";" + sensitive + "\n");
            for (int row = 0; row < output.getNumRows(); row++) {
                StringBuilder line = new StringBuilder();
                for (int column : columns) {
                    line.append(line.length() == 0 ? "" : ";").append(output.getValue(row, column));
                }
                writer.write(line.append('\n').toString());
            }
        }
        data.getHandle().release();
        System.out.printf("done\t%s\t%.2f\t%d\t%s%n", setting, used, rounds, target);
    }

    private static double cpu() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() / 1e9;
    }

    /** Lines of a name and its values, separated by tabs. */
    private static Map<String, List<String>> read(Path path) throws Exception {
        Map<String, List<String>> job = new HashMap<>();
        for (String line : Files.readAllLines(path)) {
            String[] parts = line.split("\t");
            job.put(parts[0], List.of(parts).subList(1, parts.length));
        }
        return job;
    }
}
